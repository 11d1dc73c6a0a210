#!/usr/bin/env python3
"""What a user of generate sees: texts, ends, seeds, the small model as a folder, other families, bad input.

usage: generate.py GENERATE GOLDEN

GOLDEN is tests/golden/pretrained: folders of each family without tokenizers.
"""

import json
import os
import re
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "examples"))
from program import PROGRAM, WRAPPER, misused, perform, refused, run  # noqa: E402

GOLDEN = os.path.abspath(sys.argv[2])
PROMPTS = ["Mr. Bingley", "It is a truth universally", "\"Oh"]


def texts(*arguments, stdin=""):
    """What the program writes for each prompt, and what it says on standard error."""
    done = subprocess.run([*WRAPPER, PROGRAM, *map(str, arguments)], input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", check=False)
    assert done.returncode == 0, (arguments, done)
    assert done.stdout.endswith("\n"), done
    return done.stdout[:-1].split("\n---\n"), done.stderr


def small_model():
    asked = ["--prompt", PROMPTS[0], "--tokens", 20, "--temperature", 0]
    direct, said = texts(*asked, "--steps", 12, "--save", "small")
    assert "no folder is given" in said and "SmolLM2-135M" in said and "generate FOLDER --prompt TEXT" in said, said
    loss = float(re.search(r"12 steps: loss (\S+)", said).group(1))
    assert loss < 7, f"{said}: not below that of a guess, log(1400) = 7.2"
    saved, said = texts("small", *asked)
    assert saved == direct and saved[0].startswith(PROMPTS[0]) and len(saved[0]) > len(PROMPTS[0]), (saved, direct)
    assert re.search(r"3 tokens of prompts in \S+ s; 20 tokens of text, \S+ tokens a second", said), said
    _, said = texts("small", "--prompt", PROMPTS[0], "--tokens", 1)
    assert re.search(r"; 1 token of text$", said.rstrip()) and "a second" not in said, said  # the first token has no rate
    plain, _ = texts("--steps", 2, "--tokens", 3)
    assert plain[0].startswith("Mr. Bingley"), plain


def batches():
    """Each prompt has its own text, whatever else is computed, with and without the cache."""
    for how in (["--temperature", 0], ["--temperature", 0, "--repetition-penalty", 1.3]):
        how = ["--tokens", 12, *how]
        alone = [texts("small", "--prompt", prompt, *how)[0][0] for prompt in PROMPTS]
        many = [word for prompt in PROMPTS for word in ("--prompt", prompt)]
        assert texts("small", *many, *how)[0] == alone
        assert texts("small", *many, *how, "--no-cache", "--threads", 1)[0] == alone
        assert texts("small", "--prompts", "-", *how, stdin="\r\n".join(PROMPTS))[0] == alone


def drawing():
    def draw(*how):
        return texts("small", "--prompt", PROMPTS[1], "--tokens", 12, *how)[0][0]

    assert draw("--seed", 3) == draw("--seed", 3) != draw("--seed", 4)
    greedy = draw("--temperature", 0)
    for how in (["--top-k", 1], ["--top-p", 0], ["--min-p", 1]):
        assert draw(*how, "--temperature", 2) == greedy, how
    assert draw("--temperature", 3) != greedy


def ends():
    whole = texts("small", "--prompt", PROMPTS[0], "--tokens", 30, "--temperature", 0)[0][0]
    new = whole[len(PROMPTS[0]):]
    stop = new[4:7]
    found, said = texts("small", "--prompt", PROMPTS[0], "--tokens", 30, "--temperature", 0, "--stop", "@@", "--stop", stop)
    end = new.index(stop) + len(stop)
    assert found[0].startswith(PROMPTS[0] + new[:end]) and len(found[0]) < len(whole), (found, whole)
    # A token that ends texts, as the folder says: the first one that the model takes.
    shutil.copytree("small", "ended")
    with open("small/tokenizer.json", encoding="utf-8") as stream:
        vocabulary = json.load(stream)["model"]["vocab"]
    first = max((token for token in vocabulary if new.replace(" ", "\u0120").replace("\n", "\u010a").startswith(token)),
                key=len)
    for name, numbers in (("generation_config.json", [vocabulary["~"], vocabulary[first]]), ("config.json", vocabulary[first])):
        config = {}
        if name == "config.json":
            os.remove("ended/generation_config.json")
            with open("ended/config.json", encoding="utf-8") as stream:
                config = json.load(stream)
        with open(os.path.join("ended", name), "w", encoding="utf-8") as stream:
            json.dump({**config, "eos_token_id": numbers}, stream)
        _, said = texts("ended", "--prompt", PROMPTS[0], "--tokens", 30, "--temperature", 0)
        assert "; 1 token of text" in said, (name, said)


def write_letters(folder):
    """A tokenizer of 37 signs for a golden folder."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789 "
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as stream:
        json.dump({"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None,
                   "decoder": {"type": "Fuse"},
                   "model": {"type": "BPE", "vocab": {c: i for i, c in enumerate(letters)}, "merges": []}}, stream)


def families():
    for name in "gpt2", "qwen2_window", "qwen3", "llama_tied":
        shutil.copytree(os.path.join(GOLDEN, name), name)
        write_letters(name)
        prompts = ["--prompt", "abc", "--prompt", "hello", "--tokens", 8, "--temperature", 0]
        found, _ = texts(name, *prompts)
        assert len(found) == 2 and found[0].startswith("abc") and found[1].startswith("hello"), (name, found)
        assert found == texts(name, *prompts, "--no-cache")[0], name
        assert "a prompt of 5 tokens and --tokens 60 are more than the 64 positions" in run(
            name, "--prompt", "hello", "--tokens", 60, code=1), name


def rewrite(path, dtype, code):
    """The weights of a file, cut to bf16 and stored as that or as f32."""
    with open("small/model.safetensors", "rb") as stream:
        size, = struct.unpack("<Q", stream.read(8))
        header, data = json.loads(stream.read(size)), stream.read()
    made, at, parts = {}, 0, []
    for name, entry in header.items():
        if name != "__metadata__":
            numbers = data[slice(*entry["data_offsets"])]
            parts.append(b"".join(code(numbers[i:i + 4]) for i in range(0, len(numbers), 4)))
            made[name] = {"dtype": dtype, "shape": entry["shape"], "data_offsets": [at, at + len(parts[-1])]}
            at += len(parts[-1])
    head = json.dumps(made).encode("ascii")
    with open(path, "wb") as stream:
        stream.write(struct.pack("<Q", len(head)) + head + b"".join(parts))


def half_precision():
    """Weights in bf16 give the text of the same weights in f32."""
    found = []
    for dtype, code in (("BF16", lambda f: f[2:]), ("F32", lambda f: b"\0\0" + f[2:])):
        shutil.copytree("small", dtype)
        rewrite(os.path.join(dtype, "model.safetensors"), dtype, code)
        found.append(texts(dtype, "--prompt", PROMPTS[1], "--tokens", 20)[0])
    assert found[0] == found[1], found


def bad_input():
    with open("bytes.txt", "wb") as stream:
        stream.write(b"fine\nbad \xff byte\n")
    with open("bad.gguf", "wb") as stream:
        stream.write(b"GGUF\3\0\0\0\xff\xff\xff\xff")
    refused("bytes.txt: line 2: no UTF-8", "small", "--prompts", "bytes.txt")
    refused("nowhere.txt: ", "small", "--prompts", "nowhere.txt")
    refused("nowhere/config.json cannot be opened", "nowhere", "--prompt", "a")
    refused("a BertModel is no language model", os.path.join(GOLDEN, "bert"), "--prompt", "a")
    refused("tokenizer.json cannot be read", os.path.join(GOLDEN, "gpt2"), "--prompt", "a")
    refused("bad.gguf", "bad.gguf", "--tokenizer", "small", "--prompt", "a")
    os.mkdir("folder.gguf")
    refused("folder.gguf is a folder, but a name that ends in .gguf stands for one file", "folder.gguf", "--prompt", "a")
    refused("prompt 2 has no tokens", "small", "--prompt", "a", "--prompt", "")
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([*WRAPPER, PROGRAM, "small", "--prompt", "a", "--tokens", "5"], stdout=full, stderr=subprocess.PIPE,
                              encoding="utf-8", check=False)
    assert done.returncode == 1 and "generate: standard output: " in done.stderr, done
    assert "loss" not in refused("bytes.txt: the folder cannot be made", "--save", "bytes.txt")
    misused("give a text to go on with", "small")
    misused("there is no option --prompd; is --prompt meant?", "small", "--prompd", "a")
    misused("give one model", "small", "a text")
    misused("--steps is for the small model", "small", "--prompt", "a", "--steps", 3)
    misused("--tokenizer is for a MODEL", "--tokenizer", "small")
    misused("--top-k has no effect with --temperature 0", "small", "--prompt", "a", "--temperature", 0, "--top-k", 3)
    misused("leave out --prompt", "small", "--prompt", "a", "--prompts", "bytes.txt")
    misused("--top-p 2: a number from 0 to 1", "small", "--prompt", "a", "--top-p", 2)
    misused("--stop: the text is empty", "small", "--prompt", "a", "--stop", "")


if __name__ == "__main__":
    sys.exit(perform([small_model, batches, drawing, ends, families, half_precision, bad_input]))
