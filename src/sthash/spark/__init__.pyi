from sthash.spark.columns import hamming_distance as hamming_distance
from sthash.spark.estimator import SelfTaughtHashing as SelfTaughtHashing
from sthash.spark.export import export_collection as export_collection
from sthash.spark.groups import connected_groups as connected_groups
from sthash.spark.groups import near_duplicates as near_duplicates
from sthash.spark.join import hamming_join as hamming_join
from sthash.spark.join import hamming_self_join as hamming_self_join
from sthash.spark.model import SelfTaughtHashingModel as SelfTaughtHashingModel
