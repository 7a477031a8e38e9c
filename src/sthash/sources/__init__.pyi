from sthash.sources.documents import Document as Document
from sthash.sources.documents import as_document as as_document
from sthash.sources.fields import SourceFields as SourceFields
from sthash.sources.formats import FORMATS as FORMATS
from sthash.sources.pairs import open_documents as open_documents
from sthash.sources.pairs import paired as paired
from sthash.sources.reader import read_documents as read_documents
