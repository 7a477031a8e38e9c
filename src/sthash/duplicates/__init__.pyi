from sthash.duplicates.comparison import Explanation as Explanation
from sthash.duplicates.comparison import compare_texts as compare_texts
from sthash.duplicates.detection import near_duplicates as near_duplicates
from sthash.duplicates.passages import Passage as Passage
from sthash.duplicates.passages import shared_passages as shared_passages
from sthash.duplicates.result import Duplicates as Duplicates
from sthash.duplicates.result import Kept as Kept
from sthash.duplicates.result import Pair as Pair
