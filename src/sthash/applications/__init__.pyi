from sthash.applications.classification import classify as classify
from sthash.applications.knn import KNNHashClassifier as KNNHashClassifier
from sthash.applications.known import known_copies as known_copies
