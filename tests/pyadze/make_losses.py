#!/usr/bin/env python3
"""Writes losses.json: what the training loops in loops/ give with PyTorch.

    make_losses.py        with a python3 that has torch; the numbers in the tree are those of PyTorch 2.15, on one thread
"""
import json
import pathlib
import runpy

import torch

HERE = pathlib.Path(__file__).resolve().parent


def main():
    torch.set_num_threads(1)
    made = {'made by': 'tests/pyadze/make_losses.py', 'torch': torch.__version__.split('+')[0]}
    for path in sorted((HERE / 'loops').glob('*.py')):
        made[path.stem] = runpy.run_path(str(path))['losses']
    (HERE / 'losses.json').write_text(json.dumps(made, indent=1) + '\n', encoding='utf-8')


if __name__ == '__main__':
    main()
