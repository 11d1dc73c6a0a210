#!/usr/bin/env python3
"""text-classifier --pretrained: training on a published encoder, its folder, predicting, bad input.

usage: text_classifier_pretrained.py PROGRAM GOLDEN

GOLDEN is tests/golden/pretrained: folders of published models without tokenizers.
"""

import csv
import json
import os
import re
import shutil
import struct
import sys

from program import misused, perform, refused, run

GOLDEN = os.path.abspath(sys.argv[2])
WORDS = ["yes", "no", "alpha", "beta", "gamma", "delta", "says", "and", "then", "so"]
QUICK = ["--batch-size", 16, "--lr", 0.02, "--lr-spread", 1, "--threads", 1]


def make_folder(name, golden):
    """A golden folder with a WordPiece of ten words."""
    shutil.copytree(os.path.join(GOLDEN, golden), name)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    with open(os.path.join(name, "tokenizer.json"), "w", encoding="utf-8") as stream:
        json.dump({"version": "1.0", "normalizer": {"type": "BertNormalizer", "lowercase": True},
                   "pre_tokenizer": {"type": "BertPreTokenizer"},
                   "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
                   "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
                   "added_tokens": [{"id": i, "content": word, "single_word": False, "lstrip": False, "rstrip": False,
                                     "normalized": False, "special": True} for i, word in enumerate(special)],
                   "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                             "max_input_chars_per_word": 100,
                             "vocab": {word: i for i, word in enumerate(special + WORDS)}}}, stream)


def write_table(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("text", "label"), *rows])


def rows_of(count):
    """The label is a word of the text, among others; texts have different lengths."""
    return [(f"{WORDS[2 + i % 4]} says {'yes' if i % 3 else 'no'} " + " ".join(WORDS[6 + (i + k) % 4] for k in range(i % 5)),
             "accept" if i % 3 else "reject") for i in range(count)]


def read(path):
    with open(path, "rb") as stream:
        return stream.read()


def tensors(path):
    with open(path, "rb") as stream:
        size, = struct.unpack("<Q", stream.read(8))
        header, data = json.loads(stream.read(size)), stream.read()
    return {name: data[slice(*header[name]["data_offsets"])] for name in sorted(header) if name != "__metadata__"}


def training():
    make_folder("bert", "bert")
    write_table("easy.csv", rows_of(160))
    before = read("bert/model.safetensors")
    said = run("--data", "easy.csv", "--pretrained", "bert", "--epochs", 8, *QUICK)
    assert "model: classifier," in said and float(re.search(r"result: accuracy=(\S+)", said).group(1)) > 0.9, said
    assert sorted(os.listdir("classifier")) == ["classifier.safetensors", "config.json", "model.safetensors",
                                                "tokenizer.json"]
    assert read("bert/model.safetensors") == before != read("classifier/model.safetensors")
    assert read("bert/tokenizer.json") == read("classifier/tokenizer.json")
    first = read("classifier/model.safetensors"), read("classifier/classifier.safetensors")
    run("--data", "easy.csv", "--pretrained", "bert", "--epochs", 8, *QUICK[:-1], 2, "--save", "again")
    assert first == (read("again/model.safetensors"), read("again/classifier.safetensors")), "other bits"
    # The head alone.
    run("--data", "easy.csv", "--pretrained", "bert", "--epochs", 2, "--freeze", 2, *QUICK, "--save", "frozen")
    assert tensors("frozen/model.safetensors") == tensors("bert/model.safetensors"), "frozen weights have moved"
    assert all(a != b for a, b in zip(tensors("classifier/model.safetensors").items(), tensors("bert/model.safetensors").items())
               if "pooler" not in a[0] and "position" not in a[0] and "key.bias" not in a[0]), "trained weights have not"


def predicting():
    """A text has its prediction whatever stands beside it, and the folder trains on."""
    rows = rows_of(30)
    write_table("new.csv", rows)
    run("--predict", "new.csv", "--load", "classifier")
    with open("predictions.csv", newline="", encoding="utf-8") as stream:
        found = list(csv.DictReader(stream))
    right = sum(row["label"] == label for row, (_, label) in zip(found, rows))
    assert right >= 27, f"{right} of 30"
    run("--predict", "new.csv", "--load", "classifier", "--batch-size", 2, "--output", "two.csv")
    with open("two.csv", newline="", encoding="utf-8") as stream:
        for a, b in zip(found, csv.DictReader(stream)):
            assert a["label"] == b["label"] and abs(float(a["probability"]) - float(b["probability"])) < 1e-5, (a, b)
    before = read("classifier/model.safetensors")
    assert "model: classifier," in run("--data", "easy.csv", "--load", "classifier", "--epochs", 1, *QUICK)
    assert before != read("classifier/model.safetensors")


def long_texts():
    """Beyond --max-len tokens nothing counts, and the encoder's 64 positions are enough for any text."""
    write_table("long.csv", [("yes " + "so " * 200, "accept"), ("no " + "so " * 100, "reject")] * 10)
    run("--data", "long.csv", "--pretrained", "bert", "--epochs", 1, *QUICK, "--save", "long")
    write_table("ends.csv", [("yes says so alpha beta", "accept"), ("yes says so gamma", "accept")])
    run("--data", "easy.csv", "--pretrained", "bert", "--epochs", 1, *QUICK, "--max-len", 5, "--save", "short")
    run("--predict", "ends.csv", "--load", "short")
    lines = read("predictions.csv").splitlines()
    assert lines[1] == lines[2], lines


def bad_input():
    make_folder("llama", "llama_tied")
    with open("bytes.csv", "wb") as stream:
        stream.write(b"text,label\nfine,a\nbad \xff byte,b\n")
    write_table("padding.csv", [("yes [PAD]", "accept"), ("no", "reject")] * 10)
    refused("nowhere/config.json cannot be opened", "--data", "easy.csv", "--pretrained", "nowhere")
    refused("a LlamaForCausalLM is no encoder", "--data", "easy.csv", "--pretrained", "llama")
    refused("model.gguf: this program takes a folder", "--data", "easy.csv", "--pretrained", "model.gguf")
    refused("tokenizer.json cannot be read", "--data", "easy.csv", "--pretrained", os.path.join(GOLDEN, "bert"))
    refused("bytes.csv: line 3: ", "--data", "bytes.csv", "--pretrained", "bert")
    refused("the token that fills rows", "--data", "padding.csv", "--pretrained", "bert")
    refused("classifier.safetensors", "--predict", "easy.csv", "--load", "bert")
    refused("the folder cannot be made", "--data", "easy.csv", "--pretrained", "bert", "--save", "easy.csv")
    misused("--save ./bert would overwrite the model of --pretrained", "--data", "easy.csv", "--pretrained", "bert", "--save",
            "./bert")
    misused("--load brings the tokens along; leave out --tokens", "--data", "easy.csv", "--load", "classifier", "--tokens",
            "words")
    misused("leave out --load", "--pretrained", "bert", "--load", "classifier")
    misused("leave out --encoder", "--pretrained", "bert", "--encoder", "x")
    misused("--pretrained brings the network along; leave out --arch", "--pretrained", "bert", "--arch", "qrnn")
    misused("--pretrained brings the tokens along; leave out --min-freq", "--pretrained", "bert", "--min-freq", 1)
    misused("--output belongs to --predict", "--pretrained", "bert", "--output", "x.csv")


if __name__ == "__main__":
    sys.exit(perform([training, predicting, long_texts, bad_input]))
