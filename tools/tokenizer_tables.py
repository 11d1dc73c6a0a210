#!/usr/bin/env python3
"""Writes src/models/generated/tokenizer_{classes,tables}.h: the classes of characters and the normal forms that the library
`tokenizers` uses. Its parts stand on different versions of Unicode, so each table is asked from the library itself.
The numbers of the combining classes are those of Python's unicodedata.

usage: tokenizer_tables.py SOURCE_ROOT    (needs the package tokenizers)
"""

import os
import sys
import unicodedata

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

POINTS = [c for c in range(0x110000) if not 0xd800 <= c <= 0xdfff]
EVERYTHING = "".join(map(chr, POINTS))
BLOCK = 128
HANGUL = range(0xac00, 0xac00 + 11172)


def left_out(splitter):
    """The characters that a splitter removes from the text of all characters."""
    kept = set()
    for piece, _ in splitter.pre_tokenize_str(EVERYTHING):
        kept.update(map(ord, piece))
    return set(POINTS) - kept


def matched(pattern):
    return left_out(pre_tokenizers.Split(Regex(pattern), "removed"))


def isolated(splitter, middle="a"):
    """The characters that a splitter cuts out of a word."""
    return {c for c in POINTS if len(splitter.pre_tokenize_str(middle + chr(c) + middle)) > 1}


def normalized(normalizer, mark="\ue000"):
    """What a normalizer makes of each character that it changes. It leaves the mark as it is."""
    points = [c for c in POINTS if c != ord(mark)]
    pieces = normalizer.normalize_str(mark + mark.join(map(chr, points)) + mark).split(mark)[1:-1]
    assert len(pieces) == len(points)
    return {c: piece for c, piece in zip(points, pieces) if piece != chr(c)}


def combining_classes():
    """The characters that the library reorders, with their classes."""
    nfd = normalizers.NFD()
    moved = {}
    for c in POINTS:
        value = unicodedata.combining(chr(c))
        if value and nfd.normalize_str("\u0345" + chr(c) + "\u0315") != "\u0345" + chr(c) + "\u0315" or c == 0x345:
            moved[c] = value
    return moved


def compositions(canonical):
    nfc = normalizers.NFC()
    pairs = []
    for c in sorted(canonical):
        parts = unicodedata.decomposition(chr(c)).split()
        if len(parts) != 2 or c in HANGUL:
            continue
        first, second = (int(part, 16) for part in parts)
        if nfc.normalize_str(chr(first) + chr(second)) == chr(c):
            pairs.append((first, second, c))
    return sorted(pairs)


def rows(kind, name, values, where="static ", width=100):
    text, line = f"{where}const {kind} {name}[] = {{\n", "   "
    for value in values:
        entry = f" {value},"
        if len(line) + len(entry) > width:
            text, line = text + line + "\n", "   "
        line += entry
    return text + line + "\n};\n"


def class_table(flags):
    """The flags of each character: a block for each 128 of them, and the number of its flags in each block."""
    kinds, blocks, index = [], [], []
    numbers, known = {}, {}
    for start in range(0, 0x110000, BLOCK):
        block = []
        for c in range(start, start + BLOCK):
            value = flags.get(c, 0)
            if value not in numbers:
                numbers[value] = len(kinds)
                kinds.append(value)
            block.append(numbers[value])
        block = tuple(block)
        if block not in known:
            known[block] = len(blocks)
            blocks.append(block)
        index.append(known[block])
    assert len(kinds) < 256 and len(blocks) <= 256
    return (rows("uint32_t", "adzi_tok_class_flags", [hex(k) for k in kinds], "") +
            rows("uint8_t", "adzi_tok_class_index", index, "") +
            rows("uint8_t", "adzi_tok_class_blocks", [k for block in blocks for k in block], ""))


def mapping_table(name, mapping):
    """Sorted rows of a character and where its replacement begins and ends in a list of characters."""
    pool, places, entries = [], {}, []
    for c in sorted(mapping):
        points = tuple(map(ord, mapping[c]))
        if points not in places:
            places[points] = len(pool)
            pool.extend(points)
        entries.append(f"{{ {c}, {places[points]}, {len(points)} }}")
    return rows("point_mapping", name, entries) + rows("uint32_t", name + "_points", pool)


def main():
    letter, number, space, mark = (matched(p) for p in (r"\p{L}", r"\p{N}", r"\s", r"\p{M}"))
    upper, lower = matched(r"[\p{Lu}\p{Lt}]"), matched(r"\p{Ll}")
    sign = matched(r"[\p{P}\$\+<=>\^~\|]")  # its punctuation is that of a newer Unicode than Punctuation()'s
    assert space == left_out(pre_tokenizers.WhitespaceSplit())
    word = set(POINTS) - isolated(pre_tokenizers.Whitespace())
    punctuation = isolated(pre_tokenizers.Punctuation())
    assert punctuation | space == isolated(pre_tokenizers.BertPreTokenizer())
    digit = isolated(pre_tokenizers.Digits(individual_digits=True))
    bert = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    cleaned = normalized(normalizers.BertNormalizer(**{**bert, "clean_text": True}), "|")
    control = {c for c, piece in cleaned.items() if piece == ""}
    assert {c for c, piece in cleaned.items() if piece == " "} | {0x20} == space - control
    chinese = set(normalized(normalizers.BertNormalizer(**{**bert, "handle_chinese_chars": True})))
    canonical = {c: p for c, p in normalized(normalizers.NFD()).items() if c not in HANGUL}
    compatible = {c: p for c, p in normalized(normalizers.NFKD()).items() if c not in HANGUL}
    stripped = normalized(normalizers.BertNormalizer(**{**bert, "strip_accents": True}))
    nonspacing = {c for c, piece in stripped.items() if piece == "" and c not in canonical}
    combining = {c for c, piece in normalized(normalizers.StripAccents()).items() if piece == ""}
    lowered = normalized(normalizers.Lowercase())
    unstable = set(normalized(normalizers.NFC()))
    classes = combining_classes()
    pairs = compositions(canonical)
    seconds = {second for _, second, _ in pairs} | set(range(0x1161, 0x1176)) | set(range(0x11a8, 0x11c3))

    names = (("LETTER", letter), ("NUMBER", number), ("SPACE", space), ("MARK", mark), ("UPPER", upper),
             ("LOWER", lower), ("WORD", word), ("PUNCTUATION", punctuation), ("DIGIT", digit), ("CONTROL", control),
             ("NONSPACING", nonspacing), ("COMBINING", combining), ("CHINESE", chinese), ("LOWERED", set(lowered)),
             ("DECOMPOSED", set(canonical) | set(HANGUL)), ("COMPATIBLE", set(compatible) | set(HANGUL)),
             ("REORDERED", set(classes)), ("JOINS", seconds), ("UNSTABLE", unstable), ("SIGN", sign))
    flags = {}
    enum = []
    for bit, (name, members) in enumerate(names):
        enum.append(f"    CLASS_{name} = 1 << {bit},\n")
        for c in members:
            flags[c] = flags.get(c, 0) | 1 << bit

    head = (f"/* Written by tools/tokenizer_tables.py: the characters as tokenizers {tokenizers.__version__} sees "
            "them. */\n/* clang-format off */\n")
    write("tokenizer_classes.h", head + "enum {\n" + "".join(enum) + "};\n")
    write("tokenizer_tables.h", head + class_table(flags) + mapping_table("canonical", canonical) +
          mapping_table("compatible", compatible) + mapping_table("lowered", lowered) +
          rows("point_class", "combining_classes", [f"{{ {c}, {classes[c]} }}" for c in sorted(classes)]) +
          rows("point_pair", "compositions", [f"{{ {a}, {b}, {c} }}" for a, b, c in pairs]))


def write(name, text):
    with open(os.path.join(sys.argv[1], "src", "models", "generated", name), "w", encoding="ascii") as stream:
        stream.write(text)


if __name__ == "__main__":
    main()
