#!/usr/bin/env python3
"""Writes tests/golden/tokenizers/*.json: small tokenizers, and what the library `tokenizers` makes of some texts.

usage: generate_tokenizers.py    (needs the package tokenizers)

The tokenizers are those of tests/models/compare_tokenizers.py, with a small vocabulary. Offsets are in bytes.
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "models"))
sys.dont_write_bytecode = True
import compare_tokenizers as compare  # noqa: E402

TEXTS = ["", " ", "It's the TH1RD of 12345 words, don't you see?\n\n\tYes  ", "na\u00efve caf\u00e9 e\u0301t\u0117\u0323 \u00c9t\u00e9",
         "\u6f22\u5b57 and \u3053\u3093\u306b \ud55c\uae00 \u1100\u1161\u11a8", "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f!!! ...",
         "a [MASK] b  [MASK]c Grand grand-Grand   yes </s>\n <s>x", "x\u00a0y\u2003z\u200b\u3000w\r\n\x85\t.",
         "  12 345 \u0663\u0664\u2460\u00bd #%&* ##b <0x41> \u2581a", "we'LL I\u017f 'S 've'RE \u0130stanbul STRA\u1e9eE \ufb03",
         "\x01a\x7fb\x00c\ufffd\ufeff", "deep\u0345\u0301\u0323ly\u0f71\u0f72\u0f74 \u1e9b\u0323 \ufdfa"]
CORPUS = ["the quick brown fox, don't jump over 123 lazy dogs.", "The rain in Spain stays mainly\nin the plain!",
          "na\u00efve caf\u00e9 \u00c9t\u00e9 \u6f22\u5b57 \u3053\u3093 \ud55c\uae00 and the other 2024 things."] * 3


def offsets(text, encoding):
    begins = compare.in_bytes(text)
    return [[begins[a], begins[b]] for a, b in encoding.offsets]


def case(t, text, pair=None):
    e = t.encode(text) if pair is None else t.encode(text, pair)
    found = {"text": text, "ids": e.ids, "types": e.type_ids, "special": e.special_tokens_mask,
             "decoded": t.decode(e.ids)}
    return {**found, "offsets": offsets(text, e)} if pair is None else {**found, "pair": pair}


def main():
    compare.SIZE = 320
    folder = os.path.join(HERE, "tokenizers")
    os.makedirs(folder, exist_ok=True)
    for name, make in compare.cases(CORPUS):
        if name == "minilm":
            continue
        t = make()
        t.no_padding()
        t.no_truncation()
        found = [case(t, text) for text in TEXTS]
        try:
            found.append(case(t, TEXTS[2], TEXTS[3]))
        except Exception as error:  # a template without a pair
            print(name, error)
        with open(os.path.join(folder, name + ".json"), "w", encoding="ascii") as stream:
            json.dump({"tokenizer": t.to_str(), "cases": found}, stream, separators=(",", ":"))
            stream.write("\n")


if __name__ == "__main__":
    main()
