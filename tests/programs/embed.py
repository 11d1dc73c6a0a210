#!/usr/bin/env python3
"""What a user of embed sees: vectors, nearest lines, the small model as a folder, bad input.

usage: embed.py EMBED GOLDEN

GOLDEN is tests/golden/pretrained, which has folders of other kinds.
"""

import json
import os
import re
import shutil
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "examples"))
from program import misused, perform, refused, run  # noqa: E402

GOLDEN = os.path.abspath(sys.argv[2])
TEXTS = ["Mr. Bingley danced with her twice.", "", "the lady of the house", "MR. BINGLEY danced with her twice.",
         "Naïve 漢字 words", "his wife " * 90, "Lydia was very tall."]


def write_lines(path, texts, end="\n"):
    with open(path, "w", encoding="utf-8", newline="") as stream:
        stream.write(end.join(texts))


def vectors(*arguments):
    run(*arguments, "--output", "out.txt")
    with open("out.txt", encoding="ascii") as stream:
        return [[float(word) for word in line.split(" ")] for line in stream.read().splitlines()]


def distance(a, b):
    assert len(a) == len(b) and all(len(x) == len(y) for x, y in zip(a, b)), (len(a), len(b))
    return max(abs(p - q) for x, y in zip(a, b) for p, q in zip(x, y))


def small_model():
    write_lines("lines.txt", TEXTS)
    said = run("--steps", 4, "--save", "small", "--lines", "lines.txt", "--output", "direct.txt")
    assert "no folder is given" in said and "all-MiniLM-L6-v2" in said and "embed FOLDER --lines FILE" in said, said
    assert "direct.txt: 7 vectors of 64 numbers" in said, said
    found = vectors("small", "--lines", "lines.txt")
    with open("direct.txt", encoding="ascii") as direct, open("out.txt", encoding="ascii") as out:
        assert direct.read() == out.read(), "the saved folder has other vectors"
    assert all(abs(sum(x * x for x in v) - 1) < 1e-5 for v in found), "the folder normalises"
    assert distance(found[:1], found[3:4]) == 0, "the tokenizer makes small letters"
    assert distance(found[:1], found[2:3]) > 1e-3, "different texts have different vectors"
    said = run("--steps", 20)
    loss = float(re.search(r"20 steps: loss (\S+)", said).group(1))
    assert loss < 3, f"{said}: not below that of a random order, log(32) = 3.47"
    assert "Pride and Prejudice" in said and len(re.findall(r"^0\.\d{4} \d+ ", said, re.MULTILINE)) == 5, said


def batches():
    """Each line has its own vector, whatever stands beside it."""
    found = vectors("small", "--lines", "lines.txt")
    for size in 1, 2, 3:
        assert distance(found, vectors("small", "--lines", "lines.txt", "--batch-size", size, "--threads", 1)) < 1e-5
    for i, text in enumerate(TEXTS):
        write_lines("one.txt", [text, ""])
        assert distance([found[i]], vectors("small", "--lines", "one.txt")) < 1e-5, text
    write_lines("other.txt", TEXTS, "\r\n")
    assert distance(found, vectors("small", "--lines", "other.txt")) == 0


def truncation():
    said = run("small", "--lines", "lines.txt", "--output", "out.txt")
    assert "1 text is longer than 128 tokens" in said and "line 6 with 182 tokens" in said, said
    write_lines("cut.txt", [TEXTS[5][:9 * 63], TEXTS[5]])  # 126 words, [CLS] and [SEP]
    whole, cut = vectors("small", "--lines", "cut.txt")
    assert distance([whole], [cut]) == 0
    said = run("small", "--lines", "cut.txt", "--max-length", 10, "--output", "out.txt")
    assert "2 texts are longer than 10 tokens" in said and "line 1 with 128 tokens" in said, said
    with open("small/sentence_bert_config.json", "r+", encoding="ascii") as stream:
        stream.seek(0)
        stream.write('{"a": {"max_seq_length": 5, "x": "]}"}, "max_seq_length" : 20 }\n')
        stream.truncate()
    assert "longer than 20 tokens" in run("small", "--lines", "lines.txt", "--output", "out.txt")
    os.remove("small/sentence_bert_config.json")
    assert "longer than 128 tokens" in run("small", "--lines", "lines.txt", "--output", "out.txt")
    with open("small/tokenizer_config.json", "w", encoding="ascii") as stream:
        json.dump({"model_max_length": 30}, stream)
    assert "longer than 30 tokens" in run("small", "--lines", "lines.txt", "--output", "out.txt")
    with open("small/tokenizer_config.json", "w", encoding="ascii") as stream:
        stream.write('{"model_max_length": 1000000000000000019884624838656}')  # transformers has no limit
    assert "longer than 128 tokens" in run("small", "--lines", "lines.txt", "--output", "out.txt")
    os.remove("small/tokenizer_config.json")
    write_lines("short.txt", ["his wife"])
    said = run("small", "--lines", "short.txt", "--query", TEXTS[5])
    assert "the query has 182 tokens, and what is behind the first 128" in said and "line 1" not in said, said


NAMES = {"embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
         "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm",
         "attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
         "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
         "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm"}


def gguf_text(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def write_gguf(path, pooling):
    """The folder small as a GGUF file."""
    with open("small/config.json", encoding="ascii") as stream:
        c = json.load(stream)
    with open("small/tokenizer.json", encoding="utf-8") as stream:
        vocab = json.load(stream)["model"]["vocab"]
    with open("small/model.safetensors", "rb") as stream:
        size, = struct.unpack("<Q", stream.read(8))
        tensors = json.loads(stream.read(size))
        data = stream.read()
    del tensors["__metadata__"]
    tokens = [t if t[0] == "[" and t[-1] == "]" and t != "[" else t[2:] if t[:2] == "##" else "\u2581" + t
              for t in sorted(vocab, key=vocab.get)]
    values = [gguf_text("general.architecture") + struct.pack("<I", 8) + gguf_text("bert"),
              gguf_text("bert.attention.layer_norm_epsilon") + struct.pack("<If", 6, c["layer_norm_eps"]),
              gguf_text("tokenizer.ggml.model") + struct.pack("<I", 8) + gguf_text("bert"),
              gguf_text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, len(tokens)) + b"".join(map(gguf_text, tokens)),
              gguf_text("tokenizer.ggml.token_type") + struct.pack(f"<IIQ{len(tokens)}i", 9, 5, len(tokens),
                                                                   *[3 if t[0] == "[" else 1 for t in tokens])]
    for name, entry in (("block_count", "num_hidden_layers"), ("embedding_length", "hidden_size"),
                        ("feed_forward_length", "intermediate_size"), ("attention.head_count", "num_attention_heads"),
                        ("context_length", "max_position_embeddings")):
        values.append(gguf_text("bert." + name) + struct.pack("<II", 4, c[entry]))
    values.append(gguf_text("bert.pooling_type") + struct.pack("<II", 4, pooling))
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values)) + b"".join(values)
    for name, of in tensors.items():
        layer, last = re.match(r"(?:encoder\.layer\.(\d+)\.)?.*\.(weight|bias)$", name).groups()
        path_of = re.sub(r"^encoder\.layer\.\d+\.|\.(weight|bias)$", "", name)
        own = ("" if layer is None else f"blk.{layer}.") + f"{NAMES[path_of]}.{last}"
        head += gguf_text(own) + struct.pack(f"<I{len(of['shape'])}Q", len(of["shape"]), *of["shape"][::-1])
        head += struct.pack("<IQ", 0, of["data_offsets"][0])
    with open(path, "wb") as stream:
        stream.write(head + bytes(-len(head) % 32) + data)


def gguf():
    """A GGUF file has the vectors of its folder, and cuts texts at its positions."""
    write_gguf("small.gguf", 1)
    assert distance(vectors("small", "--lines", "lines.txt"), vectors("small.gguf", "--lines", "lines.txt")) < 1e-5
    said = run("small.gguf", "--lines", "lines.txt", "--output", "out.txt")
    assert "1 text is longer than 128 tokens" in said and "line 6 with 182 tokens" in said, said
    write_gguf("none.gguf", 0)
    refused("none.gguf: the file names no pooling", "none.gguf", "--lines", "lines.txt")


def queries():
    said = run("small", "--lines", "lines.txt", "--query", TEXTS[6], "--top", 2).splitlines()
    lines = [line for line in said if not line.startswith("embed: ")]
    assert lines[0] == f"1.0000 7 {TEXTS[6]}" and len(lines) == 2, said
    found, query = vectors("small", "--lines", "lines.txt"), 6
    others = {i + 1: sum(x * y for x, y in zip(found[i], found[query])) for i in range(7) if i != query}
    cosine, line, _ = lines[1].split(" ", 2)
    assert int(line) == max(others, key=others.get) and abs(float(cosine) - others[int(line)]) < 1e-4, said
    write_lines("control.txt", ["red \x1b[31m"])
    assert "red \\x1b[31m" in run("small", "--lines", "control.txt", "--query", "red")


def bad_input():
    with open("bytes.txt", "wb") as stream:
        stream.write(b"fine\nbad \xff byte\n")
    write_lines("empty.txt", [])
    refused("bytes.txt: line 2: no UTF-8", "small", "--lines", "bytes.txt")
    refused("empty.txt: there are no lines", "small", "--lines", "empty.txt")
    refused("nowhere.txt: ", "small", "--lines", "nowhere.txt")
    refused("nowhere/config.json cannot be opened", "nowhere", "--lines", "lines.txt")
    refused("a LlamaForCausalLM is a language model", os.path.join(GOLDEN, "llama_tied"), "--lines", "lines.txt")
    refused("there is no modules.json", os.path.join(GOLDEN, "bert"), "--lines", "lines.txt")
    misused("there is no option --lin; is --lines meant?", "small", "--lin", "lines.txt")
    misused("give one folder", "small", "lines.txt")
    misused("--steps is for the small model", "small", "--steps", 3)
    misused("--save is for the small model", "small", "--save", "other")
    misused("--top is for --query", "small", "--top", 3)
    misused("leave out --query", "small", "--query", "a", "--output", "out.txt")
    misused("are the same file", "small", "--lines", "lines.txt", "--output", "./lines.txt")
    said = refused("bytes.txt: the folder cannot be made", "--save", "bytes.txt")
    assert "loss" not in said, "it trains before it looks at the folder"
    os.makedirs("odd/model.safetensors")
    said = refused("odd/model.safetensors: is a folder", "--save", "odd")
    assert "loss" not in said, "it trains before it looks at the folder"
    refused("128 positions", "small", "--lines", "lines.txt", "--max-length", 150)
    refused("max_length is 1, but 2 special tokens", "small", "--lines", "lines.txt", "--max-length", 1)
    for name, text, message in (("sentence_bert_config.json", '{"do_lower_case": true}', "do_lower_case is set"),
                                ("sentence_bert_config.json", '{"max_seq_length": "many"}', "max_seq_length is a text"),
                                ("sentence_bert_config.json", '{"max_seq_length": 0}', "max_seq_length is 0"),
                                ("tokenizer.json", "", "near end of file"),
                                ("config_sentence_transformers.json", '{"default_prompt_name": "query"}',
                                 "default_prompt_name is set")):
        shutil.copytree("small", "changed")
        with open(os.path.join("changed", name), "w", encoding="ascii") as stream:
            stream.write(text)
        refused(message, "changed", "--lines", "lines.txt")
        shutil.rmtree("changed")


if __name__ == "__main__":
    sys.exit(perform([small_model, batches, gguf, truncation, queries, bad_input]))
