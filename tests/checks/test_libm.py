#!/usr/bin/env python3
"""libm.py notices a function of libm, and only one whose bits are not fixed."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libm

LIBM = ["0000000000001000 W exp@@GLIBC_2.29", "0000000000001000 i exp@GLIBC_2.2.5", "0000000000002000 T sqrt@@GLIBC_2.2.5",
        "0000000000003000 D signgam@@GLIBC_2.23"]


class Libm(unittest.TestCase):
    def found(self, *symbols):
        return list(libm.findings(["", "optim_adam.c.o:", *(f"                 U {s}" for s in symbols)],
                                  libm.defined(LIBM)))

    def test_a_function_of_libm_is_found(self):
        found = self.found("memcpy", "exp")
        self.assertEqual(len(found), 1)
        self.assertIn("optim_adam.c.o calls libm's exp", found[0])

    def test_what_is_exact_or_elsewhere_is_left_alone(self):
        self.assertEqual(self.found("sqrt", "memcpy", "adzi_real_exp"), [])

    def test_every_permission_has_a_reason(self):
        for name, reason in libm.ALLOWED.items():
            self.assertTrue(reason, name)

    def test_a_c_library_without_libm_is_skipped(self):
        self.assertEqual(libm.main("none.a", "libm.so.6"), 77)


if __name__ == "__main__":
    unittest.main()
