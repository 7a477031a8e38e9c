from sthash._core import simd_path as simd_path
from sthash.applications import KNNHashClassifier as KNNHashClassifier
from sthash.applications import classify as classify
from sthash.applications import near_duplicates as near_duplicates
from sthash.client import Client as Client
from sthash.client import ServiceError as ServiceError
from sthash.collection import Collection as Collection
from sthash.collection import CollectionError as CollectionError
from sthash.collection import Hit as Hit
from sthash.collection import SearchOptions as SearchOptions
from sthash.collection import Snapshot as Snapshot
from sthash.hashing import EmbeddingQuantizer as EmbeddingQuantizer
from sthash.hashing import LinearSVMBank as LinearSVMBank
from sthash.hashing import SelfTaughtHashing as SelfTaughtHashing
from sthash.hashing import knn_graph as knn_graph
from sthash.hashing import laplacian_eigenmap as laplacian_eigenmap
from sthash.hashing import median_bits as median_bits
from sthash.index import HammingIndex as HammingIndex
from sthash.index import VectorIndex as VectorIndex
from sthash.model import TextModel as TextModel
from sthash.model import VectorModel as VectorModel
from sthash.model_file import ModelFileError as ModelFileError
from sthash.model_file import load as load
from sthash.sources import Document as Document
from sthash.text import TextVectorizer as TextVectorizer

__version__: str
