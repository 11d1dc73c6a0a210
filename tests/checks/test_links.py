#!/usr/bin/env python3
"""links.py notices a symbol of a room above, a name without the library's prefix, and a call of exit."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import links


def listing(*objects):
    """What nm prints of an archive: (object, [type and symbol])."""
    lines = []
    for name, symbols in objects:
        lines += ["", f"{name}.o:"]
        lines += [f"{'' if s[0] == 'U' else '0000000000000010'} {s}" for s in symbols]
    return lines


class Links(unittest.TestCase):
    def found(self, *objects):
        return list(links.findings(links.read(listing(*objects))))

    def test_a_symbol_of_a_room_above_is_found(self):
        found = self.found(("tensor_tensor.c", ["U adzi_node_release", "T adzi_new"]),
                           ("autograd_node.c", ["T adzi_node_release", "U adzi_new"]))
        self.assertEqual(len(found), 1)
        self.assertIn("tensor_tensor.c of the room tensor uses adzi_node_release", found[0])

    def test_data_above_is_found(self):
        for kind in "DBRC":
            with self.subTest(kind=kind):
                self.assertEqual(len(self.found(("base_error.c", ["U adzi_none"]),
                                                ("tensor_tensor.c", [f"{kind} adzi_none"]))), 1)

    def test_what_no_room_defines_is_left_alone(self):
        self.assertEqual(self.found(("base_error.c", ["U printf", "t local"]),
                                    ("nn_call.c", ["t printf", "U local"])), [])

    def test_a_symbol_of_a_file_above_is_found(self):
        found = self.found(("base_threads_thread.c", ["U adzi_settle", "T adzi_thread_begin"]),
                           ("base_frame.c", ["T adzi_settle", "U adzi_thread_begin"]))
        self.assertEqual(found, ["base_threads_thread.c uses adzi_settle, which base_frame.c above it in the "
                                 "room base defines"])

    def test_what_the_tape_takes_from_operators_is_listed(self):
        self.assertEqual(self.found(("ops_arithmetic_add.c", ["U adzi_record", "T adz_add", "T adz_add_rows"]),
                                    ("autograd_delivery.c", ["T adzi_record", "U adz_add"])), [])
        self.assertEqual(len(self.found(("ops_arithmetic_add.c", ["T adz_add_rows"]),
                                        ("autograd_delivery.c", ["U adz_add_rows"]))), 1)

    def test_a_symbol_that_is_above_on_purpose_is_left_alone(self):
        self.assertEqual(self.found(("autograd_derived.c", ["U adz_autograd_grad"]),
                                    ("autograd_backward.c", ["T adz_autograd_grad"])), [])

    def test_a_file_without_a_position_is_an_error(self):
        self.assertRaises(ValueError, self.found, ("base_attic.c", ["U adzi_alloc"]), ("base_alloc.c", ["T adzi_alloc"]))

    def test_a_name_without_a_prefix_is_found(self):
        found = list(links.names(links.read(listing(("zoo.c", ["T zoo_free", "D table", "t local", "T adzi_zoo_free",
                                                                      "T adz_relu", "U zoo_free", "V DW.ref.personality"])))))
        self.assertEqual([line.split(",")[0] for line in found],
                         ["zoo.c defines zoo_free", "zoo.c defines table"])

    def test_a_call_of_exit_is_found(self):
        found = list(links.names(links.read(listing(("base_errors_die.c", ["U exit"]), ("base_errors_error.c", ["U exit"])))))
        self.assertEqual(len(found), 1)
        self.assertIn("base_errors_error.c calls exit", found[0])

    def test_rows_and_printers_are_of_the_exports(self):
        for name in ("ops_pool_pool.rows.c", "ops_pool_avg_pool.c99.c", "ops_pool_windows.onnx.c"):
            self.assertEqual(links.room_of(name), "export")
        self.assertEqual(links.room_of("ops_index_rows.c"), "ops")
        self.assertEqual(len(self.found(("ops_pool_pool.rows.c", ["D adzi_rows_pool", "U adzi_pool"]),
                                        ("ops_pool_pool.c", ["U adzi_rows_pool", "T adzi_pool"]))), 1)

    def test_generated_objects_have_a_room(self):
        self.assertEqual(links.room_of("meson-generated_.._ops_registry.c"), "ops")

    def test_an_object_without_a_room_is_an_error(self):
        self.assertRaises(ValueError, links.room_of, "attic_a.c")


if __name__ == "__main__":
    unittest.main()
