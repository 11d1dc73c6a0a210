#!/usr/bin/env python3
"""How many times faster than the library `tokenizers` does adze encode text, on one thread?

usage: tokenizers.py BUILD    (needs the package tokenizers; a shared libadze-models in BUILD)

Each text is some hundred kilobytes. tokenizers' time is the smaller one of encode and encode_batch over its lines; adze encodes
line by line with adz_tokenizer_encode (ids), and once more with adz_pretrained_encode (ids, offsets and masks). The
four run in turn, and the least of their processor times counts, which other processes of the machine change little.
"""

import ctypes
import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path = [p for p in sys.path if os.path.abspath(p or ".") != HERE] + [os.path.join(HERE, "..", "tests", "models")]
sys.dont_write_bytecode = True
import compare_tokenizers as compare  # noqa: E402


class Run:
    """Encodes texts in one call of C, so that no time of Python's is measured."""

    def __init__(self, adze, tokenizer, texts):
        self.adze, self.tokenizer = adze, tokenizer
        self.raws = [text.encode() for text in texts]
        self.texts = (compare.Text * len(texts))(*[compare.Text(raw, len(raw)) for raw in self.raws])

    def ids(self):
        core, t = self.adze.core, self.tokenizer
        encode = core.adz_tokenizer_encode
        for raw in self.raws:
            scope = ctypes.c_void_p(core.adz_scope_open())
            encode(t, raw, ctypes.c_size_t(len(raw)))
            core.adz_scope_close(scope)

    def all(self):
        lib, core = self.adze.lib, self.adze.core
        e = compare.Encoding()
        for i in range(0, len(self.raws), 64):
            n = min(64, len(self.raws) - i)
            part = ctypes.byref(self.texts, i * ctypes.sizeof(compare.Text))
            scope = ctypes.c_void_p(core.adz_scope_open())
            if lib.adz_pretrained_encode(self.tokenizer, part, None, ctypes.c_size_t(n), None, ctypes.byref(e)) != 0:
                self.adze.fail()
            core.adz_scope_close(scope)


def least(functions, rounds=4):
    """The least times of functions that run in turn."""
    times = [float("inf")] * len(functions)
    for _ in range(rounds):
        for i, function in enumerate(functions):
            begin = time.process_time()
            function()
            times[i] = min(times[i], time.process_time() - begin)
    return times


def measure(adze, name, t, what, texts):
    t.no_padding()
    t.no_truncation()
    run = Run(adze, adze.open(t.to_str()), texts)
    size = sum(len(raw) for raw in run.raws) / 1e6
    one, batch, ids, everything = least([lambda: [t.encode(text) for text in texts], lambda: t.encode_batch(texts),
                                         run.ids, run.all])
    theirs = min(one, batch)
    print(f"{name:12} {what:12} {size / theirs:7.1f} {size / ids:7.1f} {size / everything:7.1f}"
          f" {theirs / ids:7.1f} {theirs / everything:7.1f}", flush=True)


def main():
    adze = compare.Adze(sys.argv[1])
    documents = compare.documents(3000000)
    english = [p for p in documents if len(p.encode()) < 1.02 * len(p)][:150]
    translations = [p for p in documents if len(p.encode()) >= 1.1 * len(p)][:150]
    texts = (("English", english), ("translations", translations), ("all scripts", compare.characters(300000, 11)),
             ("short lines", [line for p in english[:40] for line in p.splitlines() if line.strip()]))
    compare.SIZE = 30000
    corpus = [p.replace("\0", "") for p in documents]
    print(f"{'tokenizer':12} {'text':12} {'theirs':>7} {'ids':>7} {'offsets':>7} {'ids x':>7} {'offs x':>7}   in MB/s")
    cases = dict(compare.cases(corpus))
    for name in sys.argv[2:] or ("gpt2", "llama3", "qwen2", "bert", "minilm", "llama2"):
        if name in cases:
            t = cases[name]()
            for what, pieces in texts:
                measure(adze, name, t, what, pieces)


if __name__ == "__main__":
    main()
