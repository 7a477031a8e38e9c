from sthash.applications.duplicates import Duplicates as Duplicates
from sthash.applications.duplicates import near_duplicates as near_duplicates
from sthash.applications.knn import KNNHashClassifier as KNNHashClassifier
from sthash.applications.votes import Prediction as Prediction
from sthash.applications.votes import classify as classify
