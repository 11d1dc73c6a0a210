"""Writes tests/models/sampling.h: logits as transformers' processors leave them.

    python3 tests/models/sampling.py > tests/models/sampling.h

It needs torch and transformers. The processors are those of generate(), in its order.
"""
import torch
import transformers
from transformers.generation import logits_process as process

V = 24
CASES = [  # penalty, temperature, top_k, top_p, min_p, spread of the logits
    (1, 1, 0, 1, 0, 2), (1.3, 1, 0, 1, 0, 2), (0.7, 1, 0, 1, 0, 2), (1, 0.5, 0, 1, 0, 2), (1, 1, 5, 1, 0, 2),
    (1, 1, 1, 1, 0, 2), (1, 1, 100, 1, 0, 2), (1, 1, 0, 0.9, 0, 2), (1, 1, 0, 0.5, 0, 1), (1, 1, 0, 0, 0, 1),
    (1, 1, 0, 0.999, 0, 5), (1, 1, 0, 1, 0.1, 2), (1, 1, 0, 1, 1, 2), (1.2, 0.8, 10, 0.95, 0.02, 2),
    (1.1, 1.7, 7, 0.6, 0.3, 3), (2.0, 0.3, 20, 0.99, 0.05, 1),
]


def row(numbers):
    return ', '.join('-INFINITY' if x == float('-inf') else f'{x:.9g}F' for x in numbers)


torch.manual_seed(0)
print(f'/* Logits as the processors of transformers {transformers.__version__} leave them, from '
      'tests/models/sampling.py. */\n/* clang-format off */')
print(f'enum {{ SAMPLING_V = {V}, SAMPLING_IDS = 6 }};\n')
print('static const struct sampling_case {\n    double penalty, temperature;\n    int64_t top_k;\n'
      '    double top_p, min_p;\n    int64_t ids[SAMPLING_IDS];\n    float before[SAMPLING_V], after[SAMPLING_V];\n'
      '} sampling_cases[] = {')
for penalty, temperature, top_k, top_p, min_p, spread in CASES:
    logits = torch.randn(1, V) * spread
    logits[0, 3] = logits[0, 11]  # equal ones
    ids = torch.randint(0, V, (1, 6))
    ids[0, 5] = ids[0, 0]
    scores = logits.clone()
    if penalty != 1:
        scores = process.RepetitionPenaltyLogitsProcessor(penalty)(ids, scores)
    if temperature != 1:
        scores = process.TemperatureLogitsWarper(temperature)(ids, scores)
    if top_k:
        scores = process.TopKLogitsWarper(top_k)(ids, scores)
    if top_p < 1:
        scores = process.TopPLogitsWarper(top_p)(ids, scores)
    if min_p:
        scores = process.MinPLogitsWarper(min_p)(ids, scores)
    print(f'    {{ {penalty}, {temperature}, {top_k}, {top_p}, {min_p}, {{ {", ".join(map(str, ids[0].tolist()))} }},')
    print(f'        {{ {row(logits[0].tolist())} }},\n        {{ {row(scores[0].tolist())} }} }},')
print('};')
