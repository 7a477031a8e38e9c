from sthash.serve.app import create_app as create_app
from sthash.serve.running import serve as serve
from sthash.serve.settings import Limits as Limits
from sthash.serve.settings import Settings as Settings
