#!/usr/bin/env python3
"""Published models in adze, transformers, onnxruntime and llama.cpp, which compute in turns.

    PYTHONPATH=build/bindings/python pretrained.py FOLDER [--threads N] [--rounds N] [--tokens N] [--llama PYTHON]
                                                   [--only embed f32 bf16 f16 q8_0]

FOLDER is all-MiniLM-L6-v2 as it is published: its forward is computed for 16 texts of 128 tokens ("embed"). A Llama of
the shape of SmolLM2-135M, with random weights, goes on greedily after a prompt of 512 tokens: in f32 and bf16 beside
transformers, from one GGUF file in f16 and Q8_0 beside llama.cpp. The time of a prompt ends with its first token. The time
of a token is the mean over the tokens after the first one. "read" is the time of reading as many bytes as the weights have
once.

Each line has the least time by the clock and the least time of the processor, each with the ratio of the peer's time to
adze's. With one thread, the times of the processor depend less on what else runs.

Needs torch, transformers, onnxruntime and gguf. --llama names the Python of an environment with llama-cpp-python
(CMAKE_ARGS=-DGGML_NATIVE=on pip install --no-binary llama-cpp-python ...). Sides whose results differ end the comparison,
except those of Q8_0, for which llama.cpp rounds activations to 8 bits, too.
"""
import argparse
import pathlib
import random
import sys
import tempfile
import time

import pretrained_files
import turns

sys.path.remove(str(pathlib.Path(__file__).resolve().parent))  # its tokenizers.py is not the library of that name

BATCH, LENGTH, PROMPT = 16, 128, 512
KINDS = {'f32': ['adze', 'transformers'], 'bf16': ['adze', 'transformers'], 'f16': ['adze', 'llama.cpp'],
         'q8_0': ['adze', 'llama.cpp']}


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


def adze_generation(path, threads):
    import adze
    adze.set_num_threads(threads)
    model, x = adze.models.from_pretrained(path, as_stored=True), adze.tensor(tokens(1, PROMPT, 49000))

    def run(count, heard):
        with adze.no_grad():
            cache = model.new_cache(1, PROMPT + count)
        return model.generate(x, max_new_tokens=count, cache=cache, on_token=lambda *_: heard()).numpy()[0].tolist()
    return run


def transformers_generation(path, threads):
    import torch
    torch.set_num_threads(threads)
    import transformers
    transformers.utils.logging.disable_progress_bar()
    model = transformers.AutoModelForCausalLM.from_pretrained(path, dtype='auto').eval()
    x = torch.tensor(tokens(1, PROMPT, 49000))
    mask = torch.ones_like(x)

    class Streamer(transformers.generation.streamers.BaseStreamer):
        def __init__(self, heard):
            self.heard, self.prompt = heard, True

        def put(self, value):
            if not self.prompt:
                self.heard()
            self.prompt = False

        def end(self):
            pass

    def run(count, heard):
        with torch.inference_mode():
            return model.generate(x, attention_mask=mask, do_sample=False, max_new_tokens=count, min_new_tokens=count,
                                  eos_token_id=None, pad_token_id=0, streamer=Streamer(heard))[0, PROMPT:].tolist()
    return run


def llama_generation(path, threads):
    import ctypes
    import llama_cpp
    import numpy
    llama_cpp.llama_backend_init()
    model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
    settings = llama_cpp.llama_context_default_params()
    settings.n_ctx, settings.n_batch, settings.n_ubatch = 1024, PROMPT, PROMPT
    settings.n_threads = settings.n_threads_batch = threads
    context = llama_cpp.llama_init_from_model(model, settings)
    prompt = tokens(1, PROMPT, 49000)[0]

    def run(count, heard):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(context), True)
        made, new = [], prompt
        while len(made) < count:
            ids = (llama_cpp.llama_token * len(new))(*new)
            if llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(ids, len(new))) != 0:
                sys.exit('llama.cpp does not decode')
            logits = llama_cpp.llama_get_logits_ith(context, -1)
            values = numpy.ctypeslib.as_array(ctypes.cast(logits, ctypes.POINTER(ctypes.c_float)),
                                              (pretrained_files.SHAPE['vocab_size'],))
            new = [int(values.argmax())]
            made += new
            heard()
        return made
    return run


GENERATIONS = {'adze': adze_generation, 'transformers': transformers_generation, 'llama.cpp': llama_generation}


def reading(path, threads):
    """A function that reads as many bytes as the file has, from memory."""
    import concurrent.futures
    import numpy
    path = pathlib.Path(path)
    part = (path / 'model.safetensors' if path.is_dir() else path).stat().st_size // threads // 8
    parts = [numpy.full(part, 1, numpy.int64) for _ in range(threads)]
    pool = concurrent.futures.ThreadPoolExecutor(threads)
    return lambda: [int(most) for most in pool.map(numpy.max, parts)]


def now():
    """Seconds by the clock and of the processor."""
    return time.perf_counter(), time.process_time()


def timed(run, *more):
    """When a run began, when it said that there was another token, and when it ended; and its result."""
    times = [now()]
    value = run(*more, lambda: times.append(now())) if more else run()
    return times + [now()], value


def between(one, other, parts=1):
    return [(b - a) / parts for a, b in zip(one, other)]


def answer(what, side, path, threads, count):
    if what == 'embed':
        run, more = embedding_of(side, path, threads), ()
    elif side == 'read':
        run, more = reading(path, threads), ()
    else:
        run, more = GENERATIONS[side](path, threads), (1 + count,)
    for line in sys.stdin:
        first = line.strip() == 'first'
        times, value = timed(run, *((8,) if first and more else more))
        if first:
            print(' '.join(f'{v:.9g}' for v in (value if isinstance(value, list) else [value])), flush=True)
            continue
        parts = between(times[0], times[1]) + (between(times[1], times[count + 1], count) if more else [])
        print(' '.join(f'{seconds:.6f}' for seconds in parts), flush=True)


def load():
    """How many processes ran or waited for a processor in the last minute."""
    return pathlib.Path('/proc/loadavg').read_text().split()[0]


def measure(what, names, path, o, rounds):
    """The least times of all sides, after a check of their first results: those of answer."""
    python = {'llama.cpp': o.llama}
    sides = {name: turns.Side([python.get(name, sys.executable), __file__, 'side', what, name, str(path), str(o.threads),
                               str(o.tokens)], o.threads) for name in names}
    first = {name: side.step('first') for name, side in sides.items() if name != 'read'}
    if what == 'embed':
        turns.agree({name: values[0] for name, values in first.items()}, 1e-4)
    elif all(values == first['adze'] for values in first.values()):
        print(f'{what}: the same {len(first["adze"])} tokens', flush=True)
    else:
        print(f'{what}: other tokens: {first}', flush=True)
        if what != 'q8_0':
            sys.exit(1)
    least = {}
    for _ in range(rounds):
        for name, side in sides.items():
            taken = side.step()
            least[name] = list(map(min, least.get(name, taken), taken))
    for side in sides.values():
        side.end()
    return least


def show(what, name, o, part, mine, ours):
    """Times by the clock and of the processor, and their ratios to adze's."""
    columns = '  '.join(f'{1e3 * m:9.2f} ms {m / a:5.2f}' for m, a in zip(mine, ours))
    print(f'{what:6} {name:12} {o.threads} threads  {part:24} clock {columns} processor  load {load()}', flush=True)


def embed(o):
    names = ['adze', 'transformers', 'onnxruntime']
    least = measure('embed', names, o.folder, o, 3 * o.rounds)
    for name in names:
        show('embed', name, o, f'{BATCH} texts of {LENGTH} tokens', least[name], least['adze'])


def generate(kind, o):
    names = [name for name in KINDS[kind] if name != 'llama.cpp' or o.llama] + ['read']
    with tempfile.TemporaryDirectory() as there:
        path = pathlib.Path(there) / (kind if kind in ('f32', 'bf16') else kind + '.gguf')
        if path.suffix:
            pretrained_files.write_gguf(path, kind)
        else:
            pretrained_files.write_folder(path, kind)
        least = measure(kind, names, path, o, o.rounds)
    for name in names:
        if name != 'read':
            show(kind, name, o, f'a prompt of {PROMPT}', least[name][:2], least['adze'][:2])
    for name in names:
        show(kind, name, o, 'a token' if name != 'read' else 'the weights once', least[name][-2:], least['adze'][2:])


def main():
    if sys.argv[1] == 'side':
        answer(*sys.argv[2:5], int(sys.argv[5]), int(sys.argv[6]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder')
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--tokens', type=int, default=16)
    parser.add_argument('--llama')
    parser.add_argument('--only', nargs='+', choices=['embed', *KINDS], default=['embed', *KINDS])
    o = parser.parse_args()
    if 'embed' in o.only:
        embed(o)
    for kind in KINDS:
        if kind in o.only:
            generate(kind, o)


if __name__ == '__main__':
    main()
