#!/usr/bin/env python3
"""Published models in adze, transformers and onnxruntime, which compute in turns.

    PYTHONPATH=build/bindings/python pretrained.py FOLDER [--threads N] [--rounds N]

FOLDER is all-MiniLM-L6-v2 as it is published: its forward is computed for 16 texts of 128 tokens. A Llama of the shape
of SmolLM2-135M, with random weights in f32, then goes on greedily after a prompt of 512 tokens; the time of a prompt is that
of its first token, and the time of a token is the rest over their number. Least times count, and the ratios are those of
the peer's time over adze's. Needs torch, transformers and onnxruntime. Sides whose results differ end the comparison.
"""
import argparse
import pathlib
import random
import sys
import tempfile
import time

import turns

sys.path.remove(str(pathlib.Path(__file__).resolve().parent))  # its tokenizers.py is not the library of that name

BATCH, LENGTH, PROMPT, TOKENS = 16, 128, 512, 64
SHAPE = {'vocab_size': 49152, 'hidden_size': 576, 'intermediate_size': 1536, 'num_hidden_layers': 30,
         'num_attention_heads': 9, 'num_key_value_heads': 3, 'max_position_embeddings': 2048, 'rope_theta': 100000.0,
         'tie_word_embeddings': True, 'bos_token_id': 0, 'eos_token_id': 0}


def tokens(rows, count, most):
    drawn = random.Random(1)
    return [[drawn.randrange(1000, most) for _ in range(count)] for _ in range(rows)]


def embedding_of(side, folder, threads):
    """A function that computes the last hidden states and gives one of them."""
    ids = tokens(BATCH, LENGTH, 30000)
    if side == 'adze':
        import adze
        adze.set_num_threads(threads)
        model, x = adze.models.from_pretrained(folder), adze.tensor(ids)

        def run():
            with adze.no_grad():
                return model(x).last_hidden_state[-1, -1, 0].item()
        return run
    import torch
    torch.set_num_threads(threads)
    import transformers
    transformers.utils.logging.disable_progress_bar()
    implementation = 'eager' if side == 'onnxruntime' else 'sdpa'
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation=implementation).eval()
    x = torch.tensor(ids)
    if side == 'transformers':
        def run():
            with torch.inference_mode():
                return model(x).last_hidden_state[-1, -1, 0].item()
        return run
    import onnxruntime
    with tempfile.TemporaryDirectory() as there:
        path = str(pathlib.Path(there) / 'model.onnx')

        class Plain(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, given):
                return self.model(given).last_hidden_state
        torch.onnx.export(Plain(), (x,), path, input_names=['ids'], output_names=['hidden'], dynamo=False)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
    given = {'ids': x.numpy()}
    return lambda: float(session.run(None, given)[0][-1, -1, 0])


def generation_of(side, folder, threads):
    """A function that generates so many tokens and gives a sum of them."""
    ids = tokens(1, PROMPT, 49000)
    if side == 'adze':
        import adze
        adze.set_num_threads(threads)
        model, x = adze.models.from_pretrained(folder), adze.tensor(ids)
        return lambda count: int(model.generate(x, max_new_tokens=count).numpy().sum())
    import torch
    torch.set_num_threads(threads)
    import transformers
    transformers.utils.logging.disable_progress_bar()
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    x = torch.tensor(ids)
    mask = torch.ones_like(x)

    def run(count):
        with torch.inference_mode():
            return int(model.generate(x, attention_mask=mask, do_sample=False, max_new_tokens=count, min_new_tokens=count,
                                      eos_token_id=None, pad_token_id=0)[0, PROMPT:].sum())
    return run


def answer(what, side, folder, threads):
    if what == 'embed':
        ways = {'first': embedding_of(side, folder, threads)}
        ways['step'] = ways['first']
    else:
        run = generation_of(side, folder, threads)
        ways = {'first': lambda: run(8), 'prompt': lambda: run(1), 'step': lambda: run(1 + TOKENS)}
    for line in sys.stdin:
        start = time.perf_counter()
        value = ways[line.strip()]()
        seconds = time.perf_counter() - start
        print(f'{value:.9g}' if line.strip() == 'first' else f'{seconds:.6f}', flush=True)


def compare(what, names, folder, threads, rounds):
    """Prints the least times of all sides, and the ratios to adze's."""
    sides = {name: turns.Side([sys.executable, __file__, 'side', what, name, folder, str(threads)], threads)
             for name in names}
    turns.agree({name: side.step('first')[0] for name, side in sides.items()}, 1e-4)
    kinds = ['step'] if what == 'embed' else ['prompt', 'step']
    least = {name: dict.fromkeys(kinds, float('inf')) for name in names}
    for _ in range(rounds):
        for name, side in sides.items():
            for kind in kinds:
                least[name][kind] = min(least[name][kind], side.step(kind)[0])
    for side in sides.values():
        side.end()
    for name in names:
        if what == 'embed':
            parts = {f'{BATCH} texts of {LENGTH} tokens': (least[name]['step'], least['adze']['step'])}
        else:
            token = {n: (t['step'] - t['prompt']) / TOKENS for n, t in least.items()}
            parts = {f'a prompt of {PROMPT}': (least[name]['prompt'], least['adze']['prompt']),
                     'a token': (token[name], token['adze'])}
        for part, (mine, ours) in parts.items():
            print(f'{what:8} {name:12} {threads} threads  {part:24} {1e3 * mine:9.2f} ms  {mine / ours:5.2f}', flush=True)


def smollm_shaped(folder):
    import torch
    import transformers
    transformers.utils.logging.disable_progress_bar()
    torch.manual_seed(1)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SHAPE))
    model.save_pretrained(folder)


def main():
    if sys.argv[1] == 'side':
        answer(*sys.argv[2:5], int(sys.argv[5]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder')
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--rounds', type=int, default=10)
    o = parser.parse_args()
    compare('embed', ['adze', 'transformers', 'onnxruntime'], o.folder, o.threads, 3 * o.rounds)
    with tempfile.TemporaryDirectory() as folder:
        smollm_shaped(folder)
        compare('generate', ['adze', 'transformers'], folder, o.threads, max(o.rounds // 3, 2))


if __name__ == '__main__':
    main()
