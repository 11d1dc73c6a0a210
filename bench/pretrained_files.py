"""A Llama of the shape of SmolLM2-135M with random weights, as a folder of transformers and as GGUF files."""
import json
import pathlib

SHAPE = {'vocab_size': 49152, 'hidden_size': 576, 'intermediate_size': 1536, 'num_hidden_layers': 30,
         'num_attention_heads': 9, 'num_key_value_heads': 3, 'max_position_embeddings': 2048, 'rope_theta': 100000.0,
         'rms_norm_eps': 1e-5, 'tie_word_embeddings': True}


def weights():
    """Names of transformers, and values in f32."""
    import numpy
    drawn = numpy.random.default_rng(1)
    width, inner, head = SHAPE['hidden_size'], SHAPE['intermediate_size'], SHAPE['hidden_size'] // SHAPE['num_attention_heads']
    keys = SHAPE['num_key_value_heads'] * head

    def matrix(rows, columns):
        return (0.02 * drawn.standard_normal((rows, columns))).astype(numpy.float32)
    ones = numpy.ones(width, numpy.float32)
    all_of = {'model.embed_tokens.weight': matrix(SHAPE['vocab_size'], width), 'model.norm.weight': ones}
    for i in range(SHAPE['num_hidden_layers']):
        shapes = {'self_attn.q_proj': (width, width), 'self_attn.k_proj': (keys, width), 'self_attn.v_proj': (keys, width),
                  'self_attn.o_proj': (width, width), 'mlp.gate_proj': (inner, width), 'mlp.up_proj': (inner, width),
                  'mlp.down_proj': (width, inner)}
        for name, shape in shapes.items():
            all_of[f'model.layers.{i}.{name}.weight'] = matrix(*shape)
        all_of[f'model.layers.{i}.input_layernorm.weight'] = ones
        all_of[f'model.layers.{i}.post_attention_layernorm.weight'] = ones
    return all_of


def write_folder(folder, kind):
    """Writes a folder in f32 or bf16."""
    import torch
    from safetensors.torch import save_file
    dtype = {'f32': torch.float32, 'bf16': torch.bfloat16}[kind]
    config = dict(SHAPE, architectures=['LlamaForCausalLM'], model_type='llama', hidden_act='silu', bos_token_id=0,
                  eos_token_id=0, dtype=str(dtype)[6:])
    folder = pathlib.Path(folder)
    folder.mkdir()
    (folder / 'config.json').write_text(json.dumps(config), encoding='utf-8')
    save_file({name: torch.from_numpy(x).to(dtype, copy=True) for name, x in weights().items()}, folder / 'model.safetensors',
              metadata={'format': 'pt'})


NAMES = {'self_attn.q_proj': 'attn_q', 'self_attn.k_proj': 'attn_k', 'self_attn.v_proj': 'attn_v',
         'self_attn.o_proj': 'attn_output', 'mlp.gate_proj': 'ffn_gate', 'mlp.up_proj': 'ffn_up', 'mlp.down_proj': 'ffn_down',
         'input_layernorm': 'attn_norm', 'post_attention_layernorm': 'ffn_norm'}


def in_pairs(x, heads):
    """Rows of queries and keys in the order of GGUF files, in which the rotated pairs are neighbours."""
    rows, width = x.shape
    return x.reshape(heads, 2, rows // heads // 2, width).swapaxes(1, 2).reshape(rows, width)


def write_gguf(path, kind):
    """Writes a GGUF file in f16 or q8_0, without a tokenizer."""
    import gguf
    import numpy
    w = gguf.GGUFWriter(path, 'llama')
    w.add_block_count(SHAPE['num_hidden_layers'])
    w.add_context_length(SHAPE['max_position_embeddings'])
    w.add_embedding_length(SHAPE['hidden_size'])
    w.add_feed_forward_length(SHAPE['intermediate_size'])
    w.add_head_count(SHAPE['num_attention_heads'])
    w.add_head_count_kv(SHAPE['num_key_value_heads'])
    w.add_rope_freq_base(SHAPE['rope_theta'])
    w.add_rope_dimension_count(SHAPE['hidden_size'] // SHAPE['num_attention_heads'])
    w.add_layer_norm_rms_eps(SHAPE['rms_norm_eps'])
    w.add_vocab_size(SHAPE['vocab_size'])
    w.add_tokenizer_model('no_vocab')
    q8_0 = gguf.GGMLQuantizationType.Q8_0
    for name, x in weights().items():
        path_of, _, last = name.rpartition('.')
        if path_of.startswith('model.layers.'):
            number, _, part = path_of[len('model.layers.'):].partition('.')
            own = f'blk.{number}.{NAMES[part]}.{last}'
            if part in ('self_attn.q_proj', 'self_attn.k_proj'):
                x = in_pairs(x, SHAPE['num_attention_heads' if part == 'self_attn.q_proj' else 'num_key_value_heads'])
        else:
            own = {'model.embed_tokens': 'token_embd', 'model.norm': 'output_norm'}[path_of] + '.' + last
        if x.ndim == 1:
            w.add_tensor(own, x)
        elif kind == 'f16':
            w.add_tensor(own, x.astype(numpy.float16))
        else:
            w.add_tensor(own, gguf.quants.quantize(x, q8_0), raw_dtype=q8_0)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
