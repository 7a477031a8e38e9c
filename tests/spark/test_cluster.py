"""Spark on a real cluster: one master and two workers, each a process, on the loopback device."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import numpy as np

import sthash
from sthash.duplicates.grouping import connected_groups
from support.programs import ENVIRONMENT, command
from support.spark import QUICK_JAVA, corpus

BITS, RADIUS = 24, 3


def test_a_cluster_answers_as_one_machine_does_even_if_a_worker_is_killed(needs_spark, tmp_path):
    with contextlib.ExitStack() as running:
        port = free_port()
        running.enter_context(process(tmp_path, "master.Master", "--port", str(port)))
        wait_for(lambda: listening(port), 60)
        address = f"spark://127.0.0.1:{port}"
        sizes = ["--cores", "1", "--memory", "700m"]
        workers = [
            running.enter_context(process(tmp_path, "worker.Worker", *sizes, "-d", str(tmp_path / name), address))
            for name in ("one", "two")
        ]
        output = running.enter_context((tmp_path / "job.out").open("w"))
        job = subprocess.Popen(
            command("cluster_job", address, tmp_path),
            env=ENVIRONMENT,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        running.callback(stop, job)
        # Two tasks of the last stage have begun, one on each worker: what came before lies on both.
        wait_for(lambda: len(list(tmp_path.glob("begun-*"))) == 2 or job.poll() is not None, 600)
        assert job.poll() is None, (tmp_path / "job.out").read_text()[-5000:]
        os.killpg(workers[0].pid, signal.SIGKILL)
        (tmp_path / "go").touch()
        assert job.wait(600) == 0, (tmp_path / "job.out").read_text()[-5000:]
    check(json.loads((tmp_path / "answers.json").read_text()), tmp_path)


def check(answers, folder):
    """Compare with what the same model says on one machine."""
    texts = corpus()
    codes = sthash.TextModel.load(folder / "model" / "model.safetensors").encode(texts).codes
    assert (answers["hosts"], answers["hosts left"]) == (2, 1)
    assert answers["codes"] == {str(number): code.tobytes().hex() for number, code in enumerate(codes)}
    index = sthash.HammingIndex(BITS)
    index.add(codes)
    ids, distances = index.search(codes[[5]], k=20)
    assert answers["near"] == [list(pair) for pair in zip(ids[0].tolist(), distances[0].tolist(), strict=True)]
    apart = sthash.codes.distances(codes, codes)
    expected = [[int(a), int(b), int(apart[a, b])] for a, b in np.argwhere(np.triu(apart <= RADIUS, 1))]
    assert sorted(answers["pairs"]) == sorted(expected)
    groups = connected_groups(*np.argwhere(np.triu(apart <= 1, 1)).T)
    assert answers["groups"] == {str(member): int(group[0]) for group in groups for member in group}


@contextlib.contextmanager
def process(folder, kind, *arguments):
    """Run a daemon of Spark in a process group of its own."""
    import pyspark

    home = Path(pyspark.__file__).parent
    settings = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
    settings["SPARK_DAEMON_JAVA_OPTS"] = QUICK_JAVA
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}"]
    with (folder / "daemons.out").open("a") as output:
        daemon = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--webui-port", "0", *arguments],
            env=os.environ | settings,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield daemon
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(daemon.pid, signal.SIGKILL)
        daemon.wait()


def stop(job):
    job.kill()
    job.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the cluster does not answer"
        time.sleep(0.1)
