#!/usr/bin/env python3
"""Writes expressions.json: what PyTorch gives for expressions.txt.

    make_expressions.py         with a Python that has PyTorch 2.15
"""
import json
import sys
import warnings

import torch
from expressions import HERE, lines, names, plain

warnings.simplefilter('ignore')
made = {}
for line in lines():
    torch.manual_seed(0)
    try:
        made[line] = plain(eval(line, names(torch)))
    except Exception as error: # noqa: BLE001
        sys.exit(f'{line}: {error}')
text = ',\n'.join(f'{json.dumps(line)}: {json.dumps(value)}' for line, value in made.items())
(HERE / 'expressions.json').write_text('{\n' + text + '\n}\n', encoding='utf-8')
print(f'{len(made)} expressions by PyTorch {torch.__version__}')
