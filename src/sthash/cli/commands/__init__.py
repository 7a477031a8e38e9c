"""The commands of ``sth``: one file each."""

from __future__ import annotations

from sthash.cli.commands import (
    add,
    build,
    check,
    classify,
    compact,
    copy,
    dedup,
    delete,
    demo,
    duplicates,
    evaluate,
    export,
    get,
    info,
    mcp,
    overlap,
    relearn,
    reproduce,
    scores,
    search,
    serve,
    similar,
    sync,
    tune,
    version,
)
from sthash.cli.commands import list as listing

# In the order in which --help lists them.
GROUPS = {
    "Start": (demo.demo, build.build, tune.tune),
    "Find": (search.search, similar.similar, duplicates.duplicates, dedup.dedup, overlap.overlap, classify.classify),
    "Inspect": (get.get, listing.list, info.info, check.check, export.export),
    "Change": (add.add, sync.sync, delete.delete, relearn.relearn, compact.compact, copy.copy),
    "More": (serve.serve, mcp.mcp, evaluate.evaluate, reproduce.reproduce, scores.scores, version.version),
}
COMMANDS = tuple(command for group in GROUPS.values() for command in group)
