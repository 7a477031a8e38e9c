from sthash.serve.app import create_app as create_app
from sthash.serve.limits import Limits as Limits
from sthash.serve.server import serve as serve
from sthash.serve.settings import Settings as Settings
