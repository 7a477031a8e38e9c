"""Kernels where not all threads can be started: they go on with those that they have."""

import os
import resource
import subprocess
import sys

import pytest

# A thread's stack is as large as the limit on stacks was at the start of the process. The program leaves itself 1 GiB:
# of the smaller stacks some fit, of the larger ones none.
STACKS = {"some": 300 << 20, "none": 2 << 30}
PROGRAM = """
import os, resource, threading
import numpy as np, scipy.sparse as sp, sthash
from sthash import TextVectorizer
from sthash.hashing import knn_graph
from sthash.hashing.linear_hash import project

rng = np.random.default_rng(0)
codes = rng.integers(0, 256, (20_000, 8), dtype=np.uint8)
rows = sp.random_array((400, 50), density=0.2, rng=rng, dtype=np.float32, format="csr")
weights = rng.normal(size=(50, 64)).astype(np.float32)
texts = [f"word{i} and word{i % 7}" for i in range(500)]

def answers(threads):
    index = sthash.HammingIndex(64)
    index.add(codes)
    return [
        index.search(codes[:2000], 3, threads=threads)[0],
        knn_graph(rows, 5, threads=threads).toarray(),
        project(rows, weights, threads),
        TextVectorizer(threads=threads).fit_transform(texts).toarray(),
    ]

expected = answers(1)
held = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (held + (1 << 30),) * 2)
started, wait = 0, threading.Event()
try:
    for started in range(8):
        threading.Thread(target=wait.wait).start()
except RuntimeError:
    pass
wait.set()
for thread in threading.enumerate()[1:]:
    thread.join()
print("none" if started == 0 else "some" if started < 7 else "all")
print(all(np.array_equal(a, b) for a, b in zip(expected, answers(8), strict=True)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
@pytest.mark.parametrize("fit", STACKS)
def test_the_answers_are_the_same_where_threads_cannot_be_started(fit):
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    if hard != resource.RLIM_INFINITY and hard < STACKS[fit]:
        pytest.skip("the limit on stacks cannot be raised")

    def large_stacks() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (STACKS[fit], hard))

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        preexec_fn=large_stacks,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"{fit}\nTrue\n"), done.stderr


# Threads can be started in this little room, but some find none for their thread-local data.
TIGHT_PROGRAM = """
import os, resource, sys
import numpy as np, sthash

rng = np.random.default_rng(0)
index = sthash.HammingIndex(64)
index.add(rng.integers(0, 256, (200_000, 8), dtype=np.uint8))
queries = rng.integers(0, 256, (2000, 8), dtype=np.uint8)
held = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (held + (int(sys.argv[1]) << 20),) * 2)
found = index.search(queries, 3, threads=8)[0]
print(np.array_equal(found, index.search(queries, 3, threads=1)[0]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
@pytest.mark.parametrize("mebibytes", [10, 15, 20, 40])
def test_a_thread_without_room_for_its_own_data_is_not_started(mebibytes):
    done = subprocess.run(
        [sys.executable, "-c", TIGHT_PROGRAM, str(mebibytes)],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
