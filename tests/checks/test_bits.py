#!/usr/bin/env python3
"""bits.py notices a constructor that no row of the table of hashes calls."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bits

HEADERS = """
ADZ_API adz_module *adz_linear_new(
ADZ_API adz_module *adz_fastai_awd_lstm_new(int64_t vocab_sz);
ADZ_API adz_optimizer *adz_labml_adam_new(adz_tensor_list parameters);
ADZ_API adz_scheduler *adz_reduce_lr_on_plateau_new(
ADZ_API adz_module *adz_module_new(const adz_module_type *type);
"""
COVERED = ["module Linear", "module AWD_LSTM", "optimizer labml.Adam", "scheduler ReduceLROnPlateau"]


class Bits(unittest.TestCase):
    def found(self, covered, calls=""):
        return list(bits.missing(bits.constructors(HEADERS), covered, calls))

    def test_covered_types_are_left_alone(self):
        self.assertEqual(self.found(COVERED), [])

    def test_each_missing_type_is_found(self):
        for i in range(len(COVERED)):
            self.assertEqual(len(self.found(COVERED[:i] + COVERED[i + 1:])), 1, COVERED[i])

    def test_an_optimizer_is_no_module(self):
        self.assertEqual(len(self.found(["optimizer Linear"] + COVERED[1:])), 1)

    def test_a_call_of_a_sample_suffices(self):
        self.assertEqual(self.found(COVERED[1:], "return adz_linear_new(2, 3, NULL);"), [])


if __name__ == "__main__":
    unittest.main()
