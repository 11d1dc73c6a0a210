#!/usr/bin/env python3
"""The sweep notices functions that misbehave, and headers that it does not understand.

    test_sweep.py SWEEP_OVER_FAULTY_FUNCTIONS
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
FAULTS = {
    'adz_faulty_crashes(n: 9223372036854775807)': 'crashed (',
    'adz_faulty_computes_for_ever(x: inf)': 'did not return',
    'adz_faulty_waits_for_ever(x: inf)': 'did not return',
    'adz_faulty_is_silent(t: NULL)': 'failed without an error',
    'adz_faulty_returns_another_code(t: mask)': 'returned -13 but recorded -5',
    'adz_faulty_succeeds_with_an_error(t: mask)': 'did not fail, but recorded an error',
    'adz_faulty_keeps(': 'tensors are left',
    'adz_faulty_ignores_a_missing_size(options: size 0)': 'was not refused as such',
    'adz_faulty_refuses_a_newer_caller(': 'a struct of a newer caller was refused',
    'adz_faulty_always_fails': 'has not succeeded',
    'adz_faulty_names_another(t: mask)': "the error names 'neg'",
}


class Sweep(unittest.TestCase):
    def test_faults_are_noticed(self):
        done = subprocess.run([sweep, '--seconds', '1', '--wait', '5'], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, errors='replace')
        lines = done.stdout.splitlines()
        for call, complaint in FAULTS.items():
            with self.subTest(call=call):
                self.assertTrue([line for line in lines if line.startswith(call) and
                                 complaint in line], done.stdout)
        self.assertEqual(done.returncode, 1)
        self.assertFalse([line for line in lines if line.startswith('adz_faulty_options_init')])

    def generate(self, header):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, 'new.h').write_text(header)
            return subprocess.run([sys.executable, HERE / 'generate.py', folder, f'{folder}/table.c',
                                   '--part'], capture_output=True, text=True)

    def test_headers_that_are_not_understood_are_errors(self):
        for header, message in [
                ('ADZ_API int adz_new(adz_oracle *oracle);', 'adz_new'),
                ('ADZ_API int adz_new(adz_tensor ***t);', 'adz_new'),
                ('ADZ_API int new_one(int n);', '1 times, but 0 functions'),
                ('typedef struct adz_new_options {\n    int n;\n} adz_new_options;\n'
                 'ADZ_API int adz_new(const adz_new_options *options);', 'made valid'),
                ('', '0 functions')]:
            with self.subTest(header=header):
                done = self.generate(header)
                self.assertEqual(done.returncode, 1)
                self.assertIn(message, done.stderr)

    def test_a_header_that_is_understood_is_none(self):
        done = self.generate('ADZ_API adz_tensor *adz_new(adz_tensor *t, int64_t n);')
        self.assertEqual((done.returncode, done.stderr), (0, ''))


if __name__ == '__main__':
    sweep = sys.argv.pop(1)
    unittest.main()
