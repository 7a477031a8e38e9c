"""Write src/core/text/unicode_tables.hpp from this Python's own Unicode database.

Run with the oldest supported Python, whose Unicode version every newer one contains, and with sthash installed:
``python tools/unicode_tables.py > src/core/text/unicode_tables.hpp``.
"""

import itertools
import sys
import textwrap
import unicodedata

from sthash.text.folding import ACCENTED, fold_accents

# Scripts written without spaces between words, and Hangul, whose words take many endings: by how the names of their
# letters begin, because unicodedata does not tell the script of a character.
UNSPACED = (
    "CJK UNIFIED IDEOGRAPH",
    "CJK COMPATIBILITY IDEOGRAPH",
    "IDEOGRAPHIC",
    "VERTICAL IDEOGRAPHIC",
    "VERTICAL KANA",
    "HANGZHOU",
    "HIRAGANA",
    "KATAKANA",
    "HALFWIDTH KATAKANA",
    "HENTAIGANA",
    "HANGUL",
    "HALFWIDTH HANGUL",
    "THAI",
    "LAO",
    "KHMER",
    "MYANMAR",
)


# Characters that are not seen inside a word: the soft hyphen, and what joins letters or keeps words together.
IGNORED = (0x00AD, 0x200C, 0x200D, 0x2060, 0xFEFF)


def character_class(code: int) -> int:
    """What a character is to words.

    0: separates words; 1: starts and continues one; 2: only continues one (a combining mark); 3: an unspaced letter;
    4: ignored inside a word.

    Digits of unspaced scripts are like any others; U+3007, the ideographic zero, is a letter number and counts as a
    letter.
    """
    if code in IGNORED:
        return 4
    category = unicodedata.category(chr(code))
    if category[0] == "L" or category == "Nl":
        return 3 if unicodedata.name(chr(code), "").startswith(UNSPACED) else 1
    return 1 if category[0] == "N" else 2 if category in ("Mn", "Mc") else 0


def simple_lower(code: int) -> int:
    """The one character that lower-cases this one (U+0130 has two in full lower-casing: its base letter).

    The final sigma becomes the usual one, as the capital does, which does not tell them apart.
    """
    return ord("σ") if chr(code) == "ς" else ord(chr(code).lower()[0])


# Wide and narrow forms, and joined Latin letters, which people type as plain ones.
COMPATIBLE = (*range(0xFB00, 0xFB07), *range(0xFF00, 0xFFF0))


def normal_form(code: int, seconds: frozenset[str]) -> int:
    """Which normal form a text with this character may need: 1: NFC; 2: NFKC; 0: it is in NFC as far as this goes."""
    character = chr(code)
    if code in COMPATIBLE:
        return 2
    moved = unicodedata.combining(character) > 0 or character in seconds
    is_surrogate = 0xD800 <= code < 0xE000
    return int(not is_surrogate and (moved or unicodedata.normalize("NFC", character) != character))


def seconds_of_compositions() -> frozenset[str]:
    """All characters that a letter before them can swallow."""
    pairs = (unicodedata.decomposition(chr(code)).split() for code in range(sys.maxunicode + 1))
    hangul = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}
    return frozenset(map(chr, hangul | {int(pair[1], 16) for pair in pairs if len(pair) == 2 and pair[0][0] != "<"}))


def in_lines(entries: list[str]) -> str:
    """Entries of a table, several per line."""
    return textwrap.fill(" ".join(entries), 120) + "\n"


def main() -> None:
    """Print the header."""
    out = sys.stdout.write
    out("// Made by tools/unicode_tables.py; do not edit.\n")
    out("// clang-format off\n#pragma once\n\n#include <cstdint>\n\nnamespace sthash::text::unicode {\n\n")
    out(f'inline constexpr char kVersion[] = "{unicodedata.unidata_version}";\n\n')
    out("// First code point, last code point, class (1: letter or number, 2: mark, 3: unspaced letter, 4: ignored).\n")
    out("struct Range { uint32_t first, last; uint8_t kind; };\ninline constexpr Range kRanges[] = {\n")
    ranges = []
    for kind, group in itertools.groupby(range(sys.maxunicode + 1), key=character_class):
        codes = list(group)
        if kind:
            ranges.append(f"{{{codes[0]:#x},{codes[-1]:#x},{kind}}},")
    out(in_lines(ranges))
    out("};\n\n// First code point, how many follow each other at this step, step, distance to the lower-case one.\n")
    out("struct Lower { uint32_t first; uint16_t count; uint8_t step; int32_t distance; };\n")
    out("inline constexpr Lower kLowers[] = {\n")
    lowers = []
    upper = [(code, simple_lower(code) - code) for code in range(sys.maxunicode + 1) if simple_lower(code) != code]
    while upper:
        first, distance = upper[0]
        rest = dict(upper)
        step = next((s for s in (1, 2) if rest.get(first + s) == distance), 1)
        count = next(c for c in itertools.count(1) if rest.get(first + c * step) != distance)
        taken = {first + c * step for c in range(count)}
        upper = [pair for pair in upper if pair[0] not in taken]
        lowers.append(f"{{{first:#x},{count},{step},{distance}}},")
    out(in_lines(lowers))
    out("};\n\n// A lower-case letter with an accent, and the one or two letters without.\n")
    out("struct Plain { uint16_t letter, first, second; };\ninline constexpr Plain kPlain[] = {\n")
    plain = [(code, fold_accents(chr(code))) for code in range(128, 0xD800) if simple_lower(code) == code]
    folded = [(code, to) for code, to in plain if to != chr(code) and len(to) <= 2]
    out(in_lines([f"{{{code:#x},{ord(to[0]):#x},{ord((to + chr(0))[1]):#x}}}," for code, to in folded]))
    out("};\n\n// Letters on which a combining mark is an accent or a vowel point, not part of another letter.\n")
    out("struct Letters { uint32_t first, last; };\ninline constexpr Letters kAccented[] = {\n")
    accented = [unicodedata.name(chr(code), "").startswith(ACCENTED) for code in range(0xD800)]
    ranges = []
    for has, group in itertools.groupby(range(len(accented)), key=accented.__getitem__):
        codes = list(group)
        if has:
            ranges.append(f"{{{codes[0]:#x},{codes[-1]:#x}}},")
    out(in_lines(ranges))
    out("};\n\n// First code point, last code point, normal form of texts that have one of them (1: NFC, 2: NFKC).\n")
    out("inline constexpr Range kNormalForms[] = {\n")
    ranges, seconds = [], seconds_of_compositions()
    for form, group in itertools.groupby(range(sys.maxunicode + 1), key=lambda code: normal_form(code, seconds)):
        codes = list(group)
        if form:
            ranges.append(f"{{{codes[0]:#x},{codes[-1]:#x},{form}}},")
    out(in_lines(ranges))
    out("};\n\n}  // namespace sthash::text::unicode\n")


if __name__ == "__main__":
    main()
