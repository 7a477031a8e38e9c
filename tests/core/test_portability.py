"""The core keeps what only some compilers or systems have where it can be left out."""

import re
from pathlib import Path

import pytest

CORE = Path(__file__).parents[2] / "src" / "core"
# Each stands behind an #if in these files; nowhere else.
HOMES = {
    r"\b__builtin_(?!shufflevector)\w+|\b__int128\b|\b__extension__\b": {"compiler.hpp", "simd.hpp"},
    r"__attribute__|vector_size": {"compiler.hpp", "simd.hpp", "vectors.hpp"},
    r"\b_mm\d*_\w+|\b__m(128|256|512)|__builtin_shufflevector": {
        "hamming/kernels.inc",
        "hamming/weighted_kernels.inc",
        "cells/kernels.inc",
        "byte_sums.inc",
        "dot.inc",
        "graph/block_kernels.inc",
        "quantizer/choice.inc",
        "words/postings.inc",
    },
    r"#include <(unistd|fcntl|sys/\w+|windows|io)\.h>": {"hamming/os_file.cpp", "parallel.hpp"},
    r"\baligned_alloc\b": set(),
}


@pytest.mark.parametrize("pattern", HOMES)
def test_what_compilers_do_not_share_stands_in_one_place(pattern):
    found = {
        file.relative_to(CORE).as_posix()
        for file in CORE.rglob("*.[hci][pn][pc]")
        if re.search(pattern, re.sub(r"//.*", "", file.read_text(encoding="utf-8")))
    }
    assert found <= HOMES[pattern], "Use what compiler.hpp and vectors.hpp give, or <bit>."
    assert found or not HOMES[pattern]
