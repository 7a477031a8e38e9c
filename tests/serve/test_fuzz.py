"""Some seconds of fuzzed requests; `make fuzz` sends them for longer."""

from support import http_fuzzer


def test_fuzzed_requests():
    report = http_fuzzer.run(seconds=300, seed=1, max_requests=1500)
    assert not report.failures, "\n".join([str(report), *report.failures])
    assert report.requests == 1500
    assert len(report.statuses) > 8
