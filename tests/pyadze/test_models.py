#!/usr/bin/env python3
"""Published models, their tokenizers, generation and GGUF files from Python, against what their originals made of them."""
import copy
import json
import pathlib
import struct
import tempfile
import unittest

import adze

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / 'golden'
NAMES = ('llama_tied', 'qwen2_window', 'qwen3', 'bert', 'gpt2')


def case(name):
    folder = GOLDEN / 'pretrained' / name
    return folder, adze.load(folder / 'inputs.safetensors'), adze.load(folder / 'results.safetensors')


class Models(unittest.TestCase):
    def close(self, a, b, bound):
        self.assertEqual(a.shape, b.shape)
        self.assertLess((a.double() - b.double()).abs().max().item(), bound)

    def test_results_and_gradients(self):
        for name in NAMES:
            folder, given, wanted = case(name)
            model = adze.models.from_pretrained(folder, dtype=adze.float64)
            self.assertFalse(model.training)
            out = model(given['input_ids'], attention_mask=given.get('attention_mask'))
            for key in ('logits', 'last_hidden_state', 'pooler_output'):
                if key in wanted:
                    self.close(out[key], wanted[key], 1e-10)
            if 'labels' not in given:
                continue
            loss = adze.nn.functional.cross_entropy(out.logits[:, :-1].reshape(-1, out.logits.shape[-1]),
                                                    given['labels'][:, 1:].reshape(-1))
            self.close(loss, wanted['loss'], 1e-10)
            loss.backward()
            for parameter, p in model.named_parameters():
                norm = wanted.get('grad.' + parameter)
                if norm is not None and norm.shape == p.grad.shape:
                    self.close(p.grad, norm, 1e-9)

    def test_saved_and_copied(self):
        folder, given, _ = case('qwen3')
        model = adze.models.from_pretrained(folder)
        wanted = model(given['input_ids']).logits
        with tempfile.TemporaryDirectory() as place:
            model.save_pretrained(pathlib.Path(place) / 'again')
            again = adze.models.from_pretrained(pathlib.Path(place) / 'again')
        for other in (again, copy.deepcopy(model)):
            self.assertTrue(adze.equal(other(given['input_ids']).logits, wanted))

    def test_refused(self):
        with self.assertRaisesRegex(adze.IoError, 'config.json'):
            adze.models.from_pretrained('no/such/folder')
        model = adze.models.from_pretrained(case('bert')[0])
        with self.assertRaises(adze.ArgumentError):
            model.new_cache(1, 4)
        with self.assertRaisesRegex(AttributeError, 'last_hidden_state'):
            model(adze.zeros(1, 3, dtype=adze.int64)).logits # noqa: B018
        with self.assertRaises(adze.Error):
            model(adze.zeros(1, 3, dtype=adze.int64), colour=adze.ones(1))
        with self.assertRaises(TypeError):
            adze.models.from_pretrained(3)

    def test_generate(self):
        model = adze.models.from_pretrained(case('llama_tied')[0])
        prompt = adze.tensor([[3, 5, 7], [2, 4, 6]])
        heard = []
        with adze.no_grad():
            made = model.generate(prompt, max_new_tokens=5, on_token=lambda *token: heard.append(token))
            ids = prompt
            for _ in range(5): # the most probable token, one after the other
                ids = adze.cat([ids, model(ids).logits[:, -1].argmax(-1, keepdim=True)], 1)
        self.assertEqual(made.tolist(), ids[:, 3:].tolist())
        self.assertEqual([(row, step, id) for row, step, id, _, _ in heard],
                         [(row, step, made[row, step].item()) for step in range(5) for row in range(2)])
        cached = model.generate(prompt, max_new_tokens=5, cache=model.new_cache(2, 8))
        self.assertEqual(cached.tolist(), made.tolist())
        drawn = [model.generate(prompt, max_new_tokens=4, do_sample=True, temperature=2.0, top_k=9,
                                generator=adze.Generator(5)).tolist() for _ in range(2)]
        self.assertEqual(drawn[0], drawn[1])

    def test_generation_ends(self):
        model = adze.models.from_pretrained(case('llama_tied')[0])
        self.assertEqual((model.max_positions, model.max_seq_length, model.eos_token_ids), (64, 64, [2]))
        prompt = adze.tensor([[3, 5, 7]])
        all_ = model.generate(prompt, max_new_tokens=6).tolist()[0]
        self.assertEqual(model.generate(prompt, max_new_tokens=6, on_token=lambda r, step, *_: step < 2).tolist()[0], all_[:3])
        end = all_.index(all_[2])
        self.assertEqual(model.generate(prompt, max_new_tokens=6, eos_token_ids=[all_[2]]).tolist()[0], all_[:end + 1])

        def raises(*_):
            raise KeyError('from a callback')
        with self.assertRaisesRegex(KeyError, 'from a callback'):
            model.generate(prompt, on_token=raises)
        with self.assertRaises(adze.ArgumentError):
            model.generate(prompt, max_new_tokens=0)
        with self.assertRaises(adze.DtypeError):
            model.generate(prompt.float())


class Tokenizers(unittest.TestCase):
    def tokenizer(self, name, **options):
        golden = json.loads((GOLDEN / 'tokenizers' / f'{name}.json').read_text(encoding='utf-8'))
        with tempfile.TemporaryDirectory() as place:
            path = pathlib.Path(place) / 'tokenizer.json'
            path.write_text(golden['tokenizer'], encoding='utf-8')
            return adze.models.Tokenizer(path, **options), golden['cases']

    def test_ids(self):
        for name in ('bert', 'gpt2', 'llama2', 'qwen2'):
            tokenizer, cases = self.tokenizer(name)
            for one in [c for c in cases if 'pair' not in c]:
                ids = tokenizer.encode(one['text'])
                self.assertEqual(ids.tolist(), one['ids'], one['text'])
                self.assertEqual(tokenizer.decode(ids), one['decoded'])
                self.assertEqual(tokenizer.decode(one['ids']), one['decoded'])
            for one in [c for c in cases if 'pair' in c]:
                self.assertEqual(tokenizer(one['text'], one['pair'])['input_ids'][0].tolist(), one['ids'])

    def test_batch(self):
        tokenizer, _ = self.tokenizer('bert')
        texts = ['one', 'two words and more', '']
        batch = tokenizer(texts)
        for i, text in enumerate(texts):
            alone = tokenizer.encode(text).tolist()
            self.assertEqual(batch['input_ids'][i].tolist()[:len(alone)], alone)
            self.assertEqual(batch['attention_mask'][i].sum().item(), len(alone))
        self.assertEqual(batch['offsets'].shape, (*batch['input_ids'].shape, 2))
        pairs = tokenizer(texts, ['a', 'b', 'c'], truncation='longest_first', max_length=6)
        self.assertLessEqual(pairs['input_ids'].shape[1], 6)
        self.assertEqual(pairs['token_type_ids'].max().item(), 1)
        self.assertEqual(tokenizer('one')['input_ids'].tolist(), [tokenizer.encode('one').tolist()])
        self.assertEqual(tokenizer.token(tokenizer.id('[SEP]')), '[SEP]')
        for wrong in (lambda: tokenizer(['a'], ['b', 'c']), lambda: tokenizer(['a'], 'b'), lambda: tokenizer([3]),
                      lambda: tokenizer([]), lambda: tokenizer('a', truncation='some'), lambda: tokenizer.decode([10**9]),
                      lambda: tokenizer.decode([1.5])):
            with self.assertRaises((ValueError, TypeError, adze.Error)):
                wrong()
        with self.assertRaises(adze.IoError):
            adze.models.Tokenizer('no/such/folder')


def text(t):
    return struct.pack('<Q', len(t)) + t.encode()


class Files(unittest.TestCase):
    def test_blocks_stay_as_they_are_stored(self):
        """A Llama of one layer and 32 features, whose matrices are zeros in blocks of Q8_0."""
        numbers = {'embedding_length': 32, 'feed_forward_length': 64, 'block_count': 1, 'attention.head_count': 2,
                   'context_length': 8}
        head = text('general.architecture') + struct.pack('<I', 8) + text('llama')
        head += text('llama.attention.layer_norm_rms_epsilon') + struct.pack('<If', 6, 1e-5)
        for name, number in numbers.items():
            head += text('llama.' + name) + struct.pack('<II', 4, number)
        shapes = {'token_embd': (40, 32), 'output_norm': (32,), 'blk.0.attn_norm': (32,), 'blk.0.ffn_norm': (32,),
                  'blk.0.attn_q': (32, 32), 'blk.0.attn_k': (32, 32), 'blk.0.attn_v': (32, 32),
                  'blk.0.attn_output': (32, 32), 'blk.0.ffn_gate': (64, 32), 'blk.0.ffn_up': (64, 32),
                  'blk.0.ffn_down': (32, 64)}
        data = b''
        for name, shape in shapes.items():
            head += text(name + '.weight') + struct.pack(f'<I{len(shape)}Q', len(shape), *shape[::-1])
            head += struct.pack('<IQ', 8 if len(shape) > 1 else 0, len(data))
            own = bytes(shape[0] * shape[1] // 32 * 34) if len(shape) > 1 else struct.pack('<32f', *[1] * 32)
            data += own + bytes(-len(own) % 32)
        head = b'GGUF' + struct.pack('<IQQ', 3, len(shapes), 2 + len(numbers)) + head
        with tempfile.TemporaryDirectory() as place:
            path = pathlib.Path(place) / 'a.gguf'
            path.write_bytes(head + bytes(-len(head) % 32) + data)
            model = adze.models.from_pretrained(path, as_stored=True)
        down = model.model.layers[0].mlp.down_proj
        self.assertEqual((down.weight.dtype, down.in_features, down.out_features), (adze.uint8, 64, 32))
        self.assertIn('Embedding(40, 32)', repr(model))
        self.assertEqual(model(adze.tensor([[1, 2]])).logits.abs().max().item(), 0)

    def test_gguf(self):
        values = [('a.integer', struct.pack('<Iq', 11, -7)), ('a.real', struct.pack('<If', 6, 0.5)),
                  ('a.bool', struct.pack('<I?', 7, True)), ('a.text', struct.pack('<I', 8) + text('word')),
                  ('a.texts', struct.pack('<IIQ', 9, 8, 2) + text('x\0y') + text('z')),
                  ('a.numbers', struct.pack('<IIQ3i', 9, 5, 3, 1, 2, 3))]
        head = b'GGUF' + struct.pack('<IQQ', 3, 1, len(values)) + b''.join(text(k) + v for k, v in values)
        head += text('w') + struct.pack('<IQQIQ', 2, 3, 2, 0, 0)
        head += b'\0' * (-len(head) % 32)
        with tempfile.TemporaryDirectory() as place:
            path = pathlib.Path(place) / 'a.gguf'
            path.write_bytes(head + struct.pack('<6f', *range(6)))
            file = adze.models.GGUF(path)
            self.assertEqual({k: file[k] for k, _ in values},
                             {'a.integer': -7, 'a.real': 0.5, 'a.bool': True, 'a.text': 'word', 'a.texts': ['x\0y', 'z'],
                              'a.numbers': [1.0, 2.0, 3.0]})
            self.assertEqual(file.tensors, {'w': ((2, 3), 'F32')})
            w = file.read('w')
            self.assertIn('a.real', file)
            self.assertNotIn('b', file)
            with self.assertRaises(KeyError):
                file['b']
            with self.assertRaises(adze.ArgumentError):
                file.read('v')
            del file
            self.assertEqual(w.tolist(), [[0, 1, 2], [3, 4, 5]])
            path.write_bytes(head[:40])
            with self.assertRaisesRegex(adze.FormatError, 'a.gguf'):
                adze.models.GGUF(path)


if __name__ == '__main__':
    unittest.main()
