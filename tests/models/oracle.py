#!/usr/bin/env python3
"""Compares published models with transformers: random weights of small shapes, saved by transformers itself.

usage: oracle.py RUN [CASE ...] [--golden FOLDER]

RUN is tests/models/run.c. For each case transformers makes a model, saves it in f32, and computes hidden states, logits and
the gradients of a loss in f32 and f64. RUN opens the folder and must agree within 1e-5 and 1e-10 of the largest element; it
saves the folder again, and transformers must read equal weights from it.

transformers casts rotary tables and norms to float, whatever the dtype of the model. For f64 these casts are removed: tables
are computed in f64 from the formula of the configuration, and float32 stands for float64 in the code of the norms.

--golden writes the cases that tests/models/pretrained.c reads, with results in f64.

Exits with 77 without transformers and torch.
"""
import contextlib
import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import torch
    import transformers
    from safetensors.torch import load_file, save_file
except ImportError as missing:
    print(missing)
    sys.exit(77)

B, T = 2, 7
SMALL = dict(vocab_size=37, hidden_size=12, intermediate_size=20, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=64)
LLAMA3 = {'rope_type': 'llama3', 'factor': 8.0, 'low_freq_factor': 1.0, 'high_freq_factor': 4.0,
          'original_max_position_embeddings': 16, 'rope_theta': 50.0}
YARN = {'rope_type': 'yarn', 'factor': 4.0, 'original_max_position_embeddings': 48, 'rope_theta': 30.0, 'beta_fast': 2.0}


def cases():
    t = transformers
    llama = lambda **k: t.LlamaForCausalLM(t.LlamaConfig(**{**SMALL, 'hidden_size': 16, **k}))
    qwen2 = lambda **k: t.Qwen2ForCausalLM(t.Qwen2Config(**{**SMALL, 'hidden_size': 16, 'num_key_value_heads': 2, **k}))
    qwen3 = lambda **k: t.Qwen3ForCausalLM(t.Qwen3Config(**{**SMALL, 'num_key_value_heads': 2, 'head_dim': 6, **k}))
    return {
        'llama': lambda: llama(num_key_value_heads=2),
        'llama_tied': lambda: llama(num_key_value_heads=1, tie_word_embeddings=True, attention_bias=True, mlp_bias=True,
                                    rms_norm_eps=1e-5, hidden_act='gelu', rope_parameters=LLAMA3),
        'llama_linear': lambda: llama(num_key_value_heads=4, rope_parameters={'rope_type': 'linear', 'factor': 2.0,
                                                                              'rope_theta': 300.0}, head_dim=6),
        'llama_yarn': lambda: llama(num_key_value_heads=1, num_attention_heads=2, head_dim=16, num_hidden_layers=1, rope_parameters=YARN),
        'qwen2_yarn': lambda: qwen2(num_key_value_heads=1, num_attention_heads=1, rope_parameters={
            **YARN, 'beta_fast': 3.5, 'beta_slow': 0.25, 'truncate': False, 'mscale': 0.7, 'mscale_all_dim': 1.5}),
        'qwen3_yarn': lambda: qwen3(head_dim=20, rope_parameters={**YARN, 'attention_factor': 0.8, 'beta_fast': 1.0}),
        'qwen2': lambda: qwen2(tie_word_embeddings=True),
        'qwen2_window': lambda: qwen2(use_sliding_window=True, sliding_window=3, max_window_layers=1),
        'qwen3': lambda: qwen3(attention_bias=True),
        'gpt2': lambda: t.GPT2LMHeadModel(t.GPT2Config(vocab_size=37, n_positions=64, n_embd=12, n_layer=2, n_head=3, bos_token_id=1,
                                                              eos_token_id=2)),
        'bert': lambda: t.BertModel(t.BertConfig(**SMALL, hidden_act='gelu_new')),
        'roberta': lambda: t.RobertaModel(t.RobertaConfig(**SMALL)),
        'distilbert': lambda: t.DistilBertModel(t.DistilBertConfig(vocab_size=37, dim=12, hidden_dim=20, n_layers=2, n_heads=4,
                                                                   max_position_embeddings=64)),
        'qwen3_window': lambda: qwen3(use_sliding_window=True, sliding_window=2, max_window_layers=1),
    }


@contextlib.contextmanager
def in_double():
    """torch.float32 is torch.float64 in the code of the models, and float() does not cast."""
    before, to = torch.float32, torch.Tensor.float
    try:
        torch.float32 = torch.float = torch.float64
        torch.Tensor.float = lambda self, *a, **k: self.double()
        yield
    finally:
        torch.float32 = torch.float = before
        torch.Tensor.float = to


def frequencies(config, width):
    """The frequencies of a configuration in f64, by the formulas of the papers."""
    rope = config.rope_parameters
    f = rope['rope_theta'] ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    if rope['rope_type'] == 'linear':
        f = f / rope['factor']
    if rope['rope_type'] == 'llama3':
        old, low, high = (rope[k] for k in ('original_max_position_embeddings', 'low_freq_factor', 'high_freq_factor'))
        part = ((old * f / (2 * torch.pi) - low) / (high - low)).clamp(0, 1)
        f = (1 - part) * f / rope['factor'] + part * f
    if rope['rope_type'] == 'yarn':
        old, base = rope['original_max_position_embeddings'], math.log(rope['rope_theta'])
        low, high = (width * math.log(old / (rope.get(k, n) * 2 * math.pi)) / (2 * base)
                     for k, n in (('beta_fast', 32), ('beta_slow', 1)))
        if rope.get('truncate', True):
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, width - 1)
        part = ((torch.arange(width // 2, dtype=torch.float64) - low) / (high - low or 0.001)).clamp(0, 1)
        f = f / rope['factor'] * part + f * (1 - part)
    return f


def run(model, inputs, double):
    """Results and gradients by transformers."""
    model = model.double() if double else model.float()
    if double:
        for m in model.modules():
            if hasattr(m, 'inv_freq'):
                width = 2 * m.inv_freq.numel()
                m.inv_freq = frequencies(model.config, width)
    model.zero_grad()
    arguments = {k: v for k, v in inputs.items() if k not in ('labels', 'target')}
    out = {}
    with in_double() if double else contextlib.nullcontext():
        if 'labels' in inputs:
            y = model(**arguments, output_hidden_states=True)
            out = {'logits': y.logits, 'last_hidden_state': y.hidden_states[-1]}
            loss = torch.nn.functional.cross_entropy(y.logits[:, :-1].flatten(0, 1), inputs['labels'][:, 1:].flatten())
        else:
            y = model(**arguments)
            out = {'last_hidden_state': y.last_hidden_state}
            if getattr(y, 'pooler_output', None) is not None:
                out['pooler_output'] = y.pooler_output
            loss = (y.last_hidden_state * inputs['target'].to(y.last_hidden_state.dtype)).sum()
    loss.backward()
    out['loss'] = loss
    out.update({'grad.' + n: p.grad for n, p in model.named_parameters() if p.grad is not None})
    return {k: v.detach().clone().contiguous() for k, v in out.items()}


def compare(case, expected, found, bound):
    """The largest difference, relative to the largest element of a tensor; fails above the bound."""
    worst = 0
    for name, e in expected.items():
        if name not in found:
            sys.exit(f'{case}: {name} is missing')
        if found[name].shape != e.shape:
            sys.exit(f'{case}: {name} is {tuple(found[name].shape)} instead of {tuple(e.shape)}')
        # A bias of keys shifts all scores of a query alike, so its gradient is 0 but for rounding: the weight's says how much.
        scale = expected[name.removesuffix('bias') + 'weight'] if name.endswith(('key.bias', 'k_lin.bias')) else e
        error = (found[name].to(e.dtype) - e).abs().max() / scale.abs().max().clamp_min(1e-3)
        worst = max(worst, float(error))
        if not error <= bound:
            sys.exit(f'{case}: {name} differs by {float(error):.2g}, more than {bound:g}')
    return worst


def random_weights(model):
    """Normal numbers everywhere, so that no bias is 0 and no norm is 1."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(torch.randn(p.shape, generator=generator) * (0.3 if p.dim() > 1 else 0.2) + (1.0 if 'norm' in name.lower() and name.endswith('weight') else 0))


def inputs_of(model):
    generator = torch.Generator().manual_seed(2)
    config = model.config
    ids = torch.randint(3, config.vocab_size, (B, T), generator=generator)
    mask = torch.ones(B, T, dtype=torch.int64)
    mask[1, T - 2:] = 0
    inputs = {'input_ids': ids, 'attention_mask': mask}
    if (getattr(config, 'rope_parameters', None) or {}).get('rope_type') == 'yarn':
        inputs['position_ids'] = 7 * torch.arange(T).expand(B, T).contiguous() # to see the slow frequencies
    if hasattr(model, 'lm_head'):
        inputs['labels'] = ids.clone()
    else:
        width = getattr(config, 'hidden_size', None) or config.dim
        inputs['target'] = torch.randn(B, T, width, generator=generator)
    return inputs


def check(program, name, make, golden):
    model = make().eval()
    random_weights(model)
    inputs = inputs_of(model)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        model.save_pretrained(path / 'model')
        save_file(inputs, path / 'in')
        worst = {}
        for double in (False, True):
            expected = run(model, inputs, double)
            flags = ['--f64'] if double else ['--save', str(path / 'again')]
            subprocess.run([program, path / 'model', path / 'in', path / 'out', *flags], check=True)
            worst[double] = compare(name, expected, load_file(path / 'out'), 1e-10 if double else 1e-5)
        again = type(model).from_pretrained(path / 'again').state_dict()
        saved = type(model).from_pretrained(path / 'model').state_dict()
        for key, value in saved.items():
            if not torch.equal(again[key], value):
                sys.exit(f'{name}: transformers reads another {key} from the folder that adze saved')
        print(f'{name}: f32 within {worst[False]:.1e}, f64 within {worst[True]:.1e}, saved and read')
        if golden:
            write_golden(pathlib.Path(golden) / name, path, inputs, expected)
            if name == 'gpt2':
                save_file(generated(model), pathlib.Path(golden) / name / 'generated.safetensors')


def generated(model):
    """Tokens with which greedy generation goes on with texts of 7, 4 and 2 tokens, and the texts padded on either side."""
    generator = torch.Generator().manual_seed(3)
    texts = [torch.randint(3, model.config.vocab_size, (n,), generator=generator) for n in (7, 4, 2)]
    out = {}
    for side in ('left', 'right'):
        at = [(slice(T - len(t), T) if side == 'left' else slice(0, len(t))) for t in texts]
        ids, mask = torch.zeros(3, T, dtype=torch.int64), torch.zeros(3, T, dtype=torch.int64)
        for row, (where, text) in enumerate(zip(at, texts)):
            ids[row, where], mask[row, where] = text, 1
        out.update({side + '.input_ids': ids, side + '.attention_mask': mask})
    model = model.double()
    options = dict(max_new_tokens=12, do_sample=False, eos_token_id=None, pad_token_id=0)
    ids, mask = out['left.input_ids'], out['left.attention_mask']
    with torch.no_grad():
        out['tokens'] = model.generate(ids, attention_mask=mask, **options)[:, T:].contiguous()
        alone = torch.cat([model.generate(t[None], **options)[:, len(t):] for t in texts])
    if not torch.equal(alone, out['tokens']):
        sys.exit('transformers goes on with padded texts in another way than with each of them')
    return out


def write_golden(folder, path, inputs, expected):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    config = json.loads((path / 'model/config.json').read_text())
    (folder / 'config.json').write_text(json.dumps(config, indent=1, sort_keys=True) + '\n')
    shutil.copy(path / 'model/model.safetensors', folder / 'model.safetensors')
    save_file(inputs, folder / 'inputs.safetensors')
    few = {k: v for k, v in expected.items() if not k.startswith('grad.')}
    few.update({k: v.norm() for k, v in expected.items()
                if k.startswith('grad.') and not k.endswith(('key.bias', 'k_lin.bias'))}) # these are 0 but for rounding
    save_file(few, folder / 'results.safetensors')


def main():
    arguments = sys.argv[1:]
    golden = arguments.pop(arguments.index('--golden') + 1) if '--golden' in arguments else None
    names = [a for a in arguments[1:] if a != '--golden']
    for name, make in cases().items():
        if not names or name in names:
            check(arguments[0], name, make, golden)


if __name__ == '__main__':
    main()
