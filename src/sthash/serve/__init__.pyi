from sthash.serve.app import create_app as create_app
from sthash.serve.keys import Key as Key
from sthash.serve.limits import Limits as Limits
from sthash.serve.settings import Settings as Settings
from sthash.serve.supervisor import serve as serve
