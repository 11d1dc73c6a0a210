"""Published models in folders, their tokenizers, generation, and files of the format GGUF (libadze-models).

    model = adze.models.from_pretrained('SmolLM2-135M')
    tokenizer = adze.models.Tokenizer('SmolLM2-135M')
    ids = model.generate(tokenizer.encode('The sea is')[None], max_new_tokens=20, eos_token_ids=[0])
    print(tokenizer.decode(ids[0]))
"""
from operator import index

from . import _adze
from ._dtype import float32, int64
from ._factories import tensor
from ._tensor import _dtype_of
from .nn.layers import Layer


class Output(dict):
    """The results of a model by name: output.logits is output['logits']."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f'the model has no result {name!r}, but {", ".join(self)}') from None


class Pretrained(Layer):
    """A published network with its weights, in evaluation mode. from_pretrained makes it.

    A call takes `input_ids` [B, T] first, and by name `attention_mask`, `position_ids`, `token_type_ids`, `cache`,
    `past` and `logits_to_keep`, all of them tensors, as pretrained.h says. It gives an Output: `logits`,
    `last_hidden_state`, `pooler_output` or `sentence_embedding`, as far as the model has them.
    """
    _of_library = True

    def forward(self, input_ids, **named):
        given = [('input_ids', input_ids)] + [(name, x) for name, x in named.items() if x is not None]
        return Output(_adze.module_results(self._handle, given))

    def generate(self, input_ids, **options):
        """New tokens [B, N] behind the prompts [B, T]. Options: max_new_tokens, do_sample, temperature, top_k, top_p,
        min_p, repetition_penalty, eos_token_ids, pad_token_id, stop_strings, attention_mask, generator, tokenizer (a
        Tokenizer), cache, and on_token.

        on_token(row, step, id, text, finished) hears of each token; if it returns False, generation ends. With a
        tokenizer, text is what the token adds to the row. Unlike in transformers, the prompts are not in the result, and
        without a cache (new_cache) every token is computed from all before it.
        """
        if isinstance(options.get('tokenizer'), Tokenizer):
            options['tokenizer'] = options['tokenizer']._handle
        return _adze.generate(self._handle, input_ids, **options)

    def new_cache(self, batch, capacity):
        """Room for the keys and values of `capacity` positions: zeros, for a call with cache= and past=, or generate."""
        return _adze.pretrained_cache_new(self._handle, batch, capacity)

    @property
    def max_positions(self):
        """The most tokens of a sequence for which the model was made; 0 if its configuration says no number."""
        return _adze.pretrained_max_positions(self._handle)

    @property
    def max_seq_length(self):
        """The tokens to which a text is cut before the model embeds it, as in sentence-transformers."""
        return _adze.pretrained_max_seq_length(self._handle)

    @property
    def eos_token_ids(self):
        """The ids that end a text, a list for generate: those of generation_config.json, else of config.json."""
        return _adze.pretrained_eos_token_ids(self._handle).tolist()

    def save_pretrained(self, folder):
        """Writes config.json and model.safetensors, which transformers opens, and for a model with a pooling modules.json,
        1_Pooling/config.json and sentence_bert_config.json, which sentence-transformers reads."""
        _adze.pretrained_save(self._handle, folder)


def from_pretrained(folder, dtype=float32, *, as_stored=False, map=False):
    """Reads a published network from its folder, or from a GGUF file. Parameters are float32 or float64.

    With as_stored, weights of linear layers and tables stay float16, bfloat16 or Q8_0 where the files have them so; they
    cannot be trained. With map, files are mapped into memory and not copied; nobody may change them meanwhile.

    Known are Llama, Qwen 2, Qwen 3, GPT-2, BERT, RoBERTa and DistilBERT, and llama, qwen2, qwen3, gpt2 and bert in
    GGUF files. See transformers.AutoModel.from_pretrained, which looks for a name on the internet, too; adze does not.
    """
    self = Pretrained.__new__(Pretrained)
    self._adopt(_adze.pretrained_open(folder, int(_dtype_of(dtype)), as_stored, map))
    return self


class Tokenizer:
    """The tokenizer of a published model: its tokenizer.json, the folder with it, or a GGUF file. Ids are those of `tokenizers`.

    Called with a list of texts, it gives a batch as a dictionary of tensors: input_ids, attention_mask, token_type_ids
    and special_tokens_mask [N, T], and offsets [N, T, 2] in bytes. Options are those of adz_pretrained_encode_options:
    add_special_tokens, truncation ('as_file', 'none', 'longest_first', 'only_first', 'only_second'), max_length,
    truncation_side, padding ('as_file', 'longest', 'fixed'), pad_length, pad_to_multiple_of, padding_side, pad_id.
    """

    def __init__(self, path, *, add_special_tokens=True, skip_special_tokens=True):
        self._handle = _adze.pretrained_tokenizer_open(path, add_special_tokens, skip_special_tokens)

    def __call__(self, texts, pairs=None, **options):
        one = isinstance(texts, str)
        if one != isinstance(pairs, str) and pairs is not None:
            raise TypeError('pairs are of the kind of texts: a str, or a list of str')
        return _adze.pretrained_encode(self._handle, [texts] if one else texts,
                                       [pairs] if isinstance(pairs, str) else pairs, **options)

    def encode(self, text):
        """The ids of a text, [T]."""
        return _adze.tokenizer_encode(self._handle, text)

    def decode(self, ids):
        """The text of ids [T], a tensor or a list."""
        if not isinstance(ids, _adze.Tensor):
            ids = tensor([index(i) for i in ids], dtype=int64)
        return _adze.tokenizer_decode(self._handle, ids)

    def token(self, id):
        """The text of one token."""
        return _adze.tokenizer_token(self._handle, id)

    def id(self, token):
        """The id of one token, or -1 if there is no such token."""
        return _adze.tokenizer_id(self._handle, token)

    def save(self, path):
        """Writes tokenizer.json."""
        _adze.tokenizer_save(self._handle, path)

    def __len__(self):
        return _adze.tokenizer_count(self._handle)


class GGUF:
    """An open file of the format GGUF. `file[key]` is a value; `file.tensors` says which tensors there are.

    An array is a list of texts or of floats.
    """

    def __init__(self, path):
        self._handle = _adze.gguf_open(path)

    def __contains__(self, key):
        return _adze.gguf_kind_of(self._handle, key) != 0

    def __getitem__(self, key):
        kind = _adze.gguf_kind_of(self._handle, key)
        if kind == 0:
            raise KeyError(key)
        if kind == 5:
            return self._array(key)
        return (_adze.gguf_integer, _adze.gguf_real, _adze.gguf_bool, _adze.gguf_text)[kind - 1](self._handle, key)

    def _array(self, key):
        count = range(_adze.gguf_count(self._handle, key))
        try:
            return [_adze.gguf_text_at(self._handle, key, i) for i in count]
        except _adze.FormatError: # it has numbers
            return [_adze.gguf_real_at(self._handle, key, i) for i in count]

    @property
    def tensors(self):
        """The shape and the type of each tensor, such as {'token_embd.weight': ((256, 64), 'F16')}."""
        return {_adze.gguf_tensor_name_at(self._handle, i):
                (_adze.gguf_tensor_shape_at(self._handle, i), _adze.gguf_tensor_type_at(self._handle, i))
                for i in range(_adze.gguf_tensor_count(self._handle))}

    def read(self, name, widen=True):
        """A tensor, as float32. Without widen, F16 and BF16 keep their dtype, and Q8_0 stays in blocks of uint8."""
        return _adze.gguf_read(self._handle, name, widen)
