#!/usr/bin/env python3
"""Compares the tokenizers of GGUF files with the libraries `tokenizers` and `sentencepiece`: ids and decoded text.

usage: compare_gguf_tokenizers.py BUILD [MEGABYTES [NAME...]]   (needs tokenizers, sentencepiece, gguf, and a shared libadze-models)

Vocabularies are trained on a part of the text of compare_tokenizers.py, and written by gguf's writer. Those of bytes
are compared with `tokenizers` for each pre-tokenizer, those of scores with `sentencepiece`.
"""

import ctypes
import json
import os
import sys
import tempfile

import gguf
import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from compare_tokenizers import CL100K, GPT2, QWEN, Adze, characters, documents

NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

SPLITS = {
    "gpt-2": [GPT2], "llama-bpe": [CL100K], "dbrx": [CL100K], "qwen2": [QWEN], "smollm": [r"\p{N}", GPT2],
    "default": [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
}


def splitter(patterns):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(p), "isolated") for p in patterns] +
                                   [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def byte_level(pre, corpus):
    """A tokenizer of bytes with two control tokens and one of the user."""
    t = Tokenizer(models.BPE(ignore_merges=pre == "llama-bpe"))
    t.normalizer = normalizers.NFC() if pre == "qwen2" else None
    t.pre_tokenizer = splitter(SPLITS[pre])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(corpus, trainers.BpeTrainer(
        vocab_size=3000, show_progress=False, special_tokens=["<|begin|>", "<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.add_tokens([AddedToken("<tool>", normalized=False)])
    if pre == "llama-bpe":
        t.post_processor = processors.TemplateProcessing("<|begin|> $A", special_tokens=[("<|begin|>", 0)])
    if pre == "smollm":
        t.post_processor = processors.TemplateProcessing(
            "<|begin|> $A <|end|>", special_tokens=[("<|begin|>", 0), ("<|end|>", 1)])
    return t


def write_byte_level(path, pre, t):
    vocab = sorted(t.get_vocab().items(), key=lambda item: item[1])
    kinds = [CONTROL if i < 2 else USER if text == "<tool>" else NORMAL for text, i in vocab]
    w = gguf.GGUFWriter(path, "llama")
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre(pre)
    w.add_token_list([text for text, _ in vocab])
    w.add_token_types(kinds)
    w.add_token_merges([" ".join(pair) for pair in json.loads(t.to_str())["model"]["merges"]])
    w.add_bos_token_id(0)
    w.add_eos_token_id(1)
    if pre == "smollm":
        w.add_add_bos_token(True)
        w.add_add_eos_token(True)
    finish(w)


def finish(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.close()


def write_scores(path, sp, prefix):
    n = sp.get_piece_size()
    w = gguf.GGUFWriter(path, "llama")
    w.add_tokenizer_model("llama")
    w.add_token_list([sp.id_to_piece(i) for i in range(n)])
    w.add_token_scores([sp.get_score(i) for i in range(n)])
    w.add_token_types([UNKNOWN if sp.is_unknown(i) else CONTROL if sp.is_control(i) else BYTE if sp.is_byte(i)
                       else UNUSED if sp.is_unused(i) else NORMAL for i in range(n)])
    w.add_bos_token_id(sp.bos_id())
    w.add_eos_token_id(sp.eos_id())
    w.add_unk_token_id(sp.unk_id())
    w.add_add_space_prefix(prefix)
    finish(w)


def scores(folder, corpus, prefix):
    """A tokenizer of sentencepiece."""
    text = os.path.join(folder, "corpus.txt")
    with open(text, "w", encoding="utf-8") as file:
        file.write("\n".join(line for piece in corpus for line in piece.split("\n") if line.strip()))
    model = os.path.join(folder, "sp")
    sentencepiece.SentencePieceTrainer.train(
        input=text, model_prefix=model, model_type="bpe", vocab_size=5000, byte_fallback=True, minloglevel=2,
        character_coverage=0.98, normalization_rule_name="identity", remove_extra_whitespaces=False,
        add_dummy_prefix=prefix, split_digits=True, allow_whitespace_only_pieces=True)
    return sentencepiece.SentencePieceProcessor(model_file=model + ".model")


def report(name, what, text, own, wanted):
    print(f"{name}: {what} of {text[:300]!r} differ:\n  {own[:60]}\n  {wanted[:60]}")


def compare(adze, name, path, encode, decode, pieces):
    """The number of differences."""
    t = adze.lib.adz_pretrained_tokenizer_open(path.encode(), None)
    if not t:
        adze.fail()
    t, wrong = ctypes.c_void_p(t), 0
    for k, text in enumerate(pieces):
        own, wanted = adze.encode_plain(t, text.encode()), encode(text)
        if own != wanted:
            report(name, "ids", text, own, wanted)
            wrong += 1
        elif k % 7 == 0 and adze.decode(t, own) != decode(own):
            report(name, "decoded text", text, adze.decode(t, own), decode(own))
            wrong += 1
        if wrong > 3:
            break
    print(f"{name}: {'equal' if wrong == 0 else 'DIFFERENT'} on {sum(len(p.encode()) for p in pieces)} bytes", flush=True)
    return wrong


def main():
    adze = Adze(sys.argv[1])
    adze.i64 = 3
    adze.lib.adz_pretrained_tokenizer_open.restype = ctypes.c_void_p
    half = int(float(sys.argv[2]) * 500000) if len(sys.argv) > 2 else 1000000
    pieces = [p.replace("\0", "") for p in documents(half) + characters(half, 2)]
    corpus = [p.replace("\0", "") for p in documents(1000000) + characters(200000, 5)]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tokenizer.gguf")
        chosen = sys.argv[3:] or [*SPLITS, "scores"]
        for pre in (name for name in SPLITS if name in chosen):
            t = byte_level(pre, corpus)
            write_byte_level(path, pre, t)
            own = [p.replace("<|begin|>", "") for p in pieces]
            wrong += compare(adze, pre, path, lambda text: t.encode(text).ids, t.decode, own)
        for prefix in (True, False) if "scores" in chosen else ():
            sp = scores(folder, corpus, prefix)
            write_scores(path, sp, prefix)
            # Control tokens are tokens of texts in GGUF files, and none in sentencepiece.
            own = [p.replace("<s>", "").replace("</s>", "").replace("<unk>", "") for p in pieces]
            wrong += compare(adze, f"scores{'' if prefix else ' without a prefix'}", path,
                             lambda text: [sp.bos_id()] + sp.encode(text), sp.decode, own)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
