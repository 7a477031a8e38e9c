from sthash.applications.knn import KNNHashClassifier as KNNHashClassifier
from sthash.applications.votes import Prediction as Prediction
from sthash.applications.votes import classify as classify
