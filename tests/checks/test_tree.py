#!/usr/bin/env python3
"""Each rule of tree.py is broken once in a tree of its own, and must be noticed."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tree

# Structs of arguments of launches.
SUMS = """typedef struct part {
    char *data; /* not *this */
    int64_t n;
} part;

typedef struct {
    adzi_kernel kernel;
    void (*function)(void *);
    const char *x, *y;
    part part;
    int64_t n;
    _Atomic(int64_t) *out[4];
} sum_args;

typedef struct list_args {
    part all[3];
} list_args;

"""

BREAKS = [
    ("src/tensor/a.c", '#include "autograd/node.h"\n', "of the room autograd above it"),
    ("src/ops/a.c", '#include "nn/module.h"\n', "of the room nn above it"),
    ("src/ops/shape/pad.c", '#include "export/rows/row.h"\n', "of the room export above it"),
    ("src/ops/shape/pad.c", '#include "ops/shape/pad.c99.h"\n', "of the room export above it"),
    ("src/export/a.c", '#include "solvers/a.h"\n', "of the room solvers above it"),
    ("src/ops/shape/pad.onnx.c", '#include "solvers/a.h"\n', "of the room solvers above it"),
    ("src/nn/a.c", "#include <adze/optim.h>\n", "of the room optim above it"),
    ("src/nn/a.c", '#include "adze/io.h"\n', "of the room io above it"),
    ("src/optim/a.c", '#include "adze/data.h"\n', "of the room data above it"),
    ("include/adze/tensor.h", '#include "adze/nn/linear.h"\n', "of the room nn above it"),
    ("src/base/blocks.c", '#include "base/error.h"\n', "blocks.c includes error.h, which lies above it"),
    ("src/base/threads/thread.c", '#include "base/frame.h"\n', "which lies above it in the room base"),
    ("src/autograd/op.c", '#include "ops/reduction/sum.h"\n', "of the room ops above it"),
    ("src/autograd/op.c", '#include "autograd/engine.h"\n', "which lies above it in the room autograd"),
    ("src/optim/a.c", '#include "solvers/functional/functional.h"\n', "of the room solvers above it"),
    ("src/io/a.c", "/* the place of a name */\n", '"place" has the sense of docs/glossary.md only'),
    ("src/plan/a.c", "int f(int places);\n", '"place" has the sense of docs/glossary.md only'),
    ("src/export/a.c", "int place = 1; /* the last place */\n", '"place" has the sense of docs/glossary.md only'),
    ("src/optim/a.c", "/* the places\n * of units */\n", '"place" has the sense of docs/glossary.md only'),
    ("src/io/a.c", "/* a list in place of a name */\n", '"place" has the sense of docs/glossary.md only'),
    ("src/plan/a.c", "/* the recordings of a call */\n", '"recording" has the sense of docs/glossary.md only'),
    ("src/base/attic.c", "int x;\n", "attic.c has no position in the room base"),
    ("src/zoo/gpt2/a.c", '#include "nn/module.h"\n', "it uses the public headers only"),
    ("src/zoo/a.c", '#include "base/error.h"\n', "it uses the public headers only"),
    ("src/zoo/a.c", '#include "../base/error.h"\n', "it uses the public headers only"),
    ("src/nn/a.c", '#include "adze/zoo/gpt2.h"\n', "belongs to another library"),
    ("include/adze/nn.h", '#include "adze/zoo.h"\n', "belongs to another library"),
    ("src/mpi/a.c", '#include "base/error.h"\n', "it uses the public headers only"),
    ("src/distributed/a.c", '#include "io/npy.h"\n', "of the room io above it"),
    ("include/adze/odd.h", "\n", "belongs to no room"),
    ("src/nn/a.c", '#include "adze/adze.h"\n', "not the umbrella"),
    ("src/nn/a.c", "int x;\n" * 700, "longer than"),
    ("src/nn/a.c", "void *p = malloc(3);\n", "memory comes from"),
    ("src/nn/a.c", "#include <cblas.h>\n", "only src/tensor/gemm/openblas.h"),
    ("src/nn/a.c", "size_t f = adzi_frame_begin(thread, 0, 0);\n", "called through base/door.h"),
    ("src/nn/a.c", "void f(void)\n{\n    dsyevd_(0);\n}\n", "a routine of LAPACK"),
    ("src/ops/shape/a.c", "    if (!ADZI_ENTER(&call, sin, x)) {\n", "the steps of a call"),
    ("src/ops/shape/a.c", "/* written by hand */\n    if (!adzi_enter(&call, op, names, in, n, 0)) {\n",
     "the steps of a call"),
    ("tests/a.c", "    assert_in_range(n, 1, 3);\n", "deprecated in cmocka 2"),
    ("tests/a.h", "    will_return_count(f, 1, 3);\n", "deprecated in cmocka 2"),
    ("tests/a.c", "    LargestIntegralType n = 1;\n", "deprecated in cmocka 2"),
    ("examples/a.c", "/* TODO: the rest */\n", "unfinished work"),
    ("docs/a.md", "see " + "/home" + "/someone/adze\n", "a path of one machine"),
    ("src/nn/a.c", SUMS + "ADZI_ADDRESSES(sum_args, x, part.data, out);\n", "line does not name: y"),
    ("src/nn/a.c", SUMS + "ADZI_ADDRESSES(sum_args, x, y, out);\n", "line does not name: part.data"),
    ("src/nn/a.c", SUMS + "ADZI_ADDRESSES(sum_args, x, y, part.data);\n", "line does not name: out"),
    ("src/nn/a.c", SUMS + "ADZI_ADDRESSES(sum_args, x, y, part.data, out, n);\n", "sum_args has no such pointers: n"),
    ("src/nn/a.c", SUMS + "ADZI_NO_ADDRESSES(sum_args);\n", "line does not name: out, part.data, x, y"),
    ("src/nn/a.c", SUMS + "ADZI_ADDRESS_TABLE(list_args, ADZI_ADDRESS_OF_EACH(list_args, all, none));\n",
     "line does not name: all[].data"),
    ("src/nn/a.c", SUMS + "ADZI_ADDRESSES(other_args, x);\n", "other_args is not in this file"),
    ("docs/a.md", "see [b](b.md) or [c](https://example.org)\n", "a link to b.md"),
]

KEEPS = [
    ("src/nn/a.c", SUMS + "#define PART_ADDRESSES(at) at data\n\n"
     "ADZI_ADDRESSES(sum_args, x, y,\n    PART_ADDRESSES(part.), out);\n"
     "ADZI_ADDRESS_TABLE(list_args, ADZI_ADDRESS_OF_EACH(list_args, all, data));\n"),
    ("src/base/system_memory.c", "void *p = malloc(3);\n"),
    ("src/nn/a.c", '/* never malloc() here */ const char *s = "free(x)"; a->free(b);\n'),
    ("src/io/a.c", '#include "optim/optimizer.h"\n#include "io/a.h"\n#include <stdio.h>\n'),
    ("src/optim/a.c", '#include "adze/nn/linear.h"\n#include "tensor/shape.h"\n'),
    ("src/zoo/gpt2/a.c", '#include "adze/nn/type.h"\n#include "zoo.h"\n#include "gpt2/gpt2.h"\n'),
    ("src/mpi/a.c", '#include "adze/mpi.h"\n'),
    ("src/io/a.c", '#include "distributed/group.h"\n'),
    ("src/io/a.c", "/* It is written in\n * place. */ int replace(int n_places);\n"),
    ("src/nn/a.c", "/* the place of a gradient */\n"),
    ("src/optim/a.c", "/* 2 units in the last place, or of the last\n * place */\n"),
    ("src/nn/a.c", "/* without recording */\n"),
    ("src/plan/snapshot.c", "/* the place of a gradient */\n"),
    ("src/base/errors/error.c", '#include "base/limit.h"\n#include "base/error.h"\n'),
    ("src/base/alloc.c", '#include "base/capture.h"\n'),
    ("src/ops/shape/sin.c", '#include "ops/shape/cos.h"\n'),
    ("src/ops/shape/a.c", "/* The call is written\n * out, because it has lists. */\n    ADZI_ENTER_OPTIONAL(&call, sin, 1, x);\n"),
    ("src/nn/a.c", "    adzi_enter(&call, op, names, in, n, 0);\n"),
    ("src/ops/shape/pad.c99.c", '#include "export/c99/c99.h"\n#include "ops/shape/pad.c99.h"\n'),
    ("src/autograd/operators.h", '#include "ops/shape/sin.h"\n'),
    ("build/a.c", "/* TODO */\n"),
    ("tests/a.c", "/* assert_in_range(n, 1, 3) */ assert_true(n >= 1); cmocka_unit_test(f);\n"),
    ("docs/a.md", "https://example.org/home/x and ../work/x\n"),
]


# With the operators add, pad and min.
NAMED = [
    ('static const row rows[] = {\n    { "add", print_add },\n};\n', ['2: "add" is an operator']),
    ('const char *const views[] = { "split",\n    "pad" };\n', ['2: "pad" is an operator']),
    ('    BROADCAST("add", "Add"),\n', ['1: "add" is an operator']),
    ('    return strcmp(name, "min") == 0;\n', ['1: "min" is an operator']),
    ('    return strcmp(call->op->name, other) == 0;\n', ["1: the name of an operator decides"]),
    ("    return c->op->name[0] == 'a';\n", ["1: the name of an operator decides"]),
    ('    low = number_of(g, "min"); /* not { "add" } */ fail("%s", c->op->name); f(c->op->name);\n', []),
    ('    last(g, ADZI_ATTRS(ADZI_ATTR_TEXT("reduction", "add")));\n', []),
]


class Tree(unittest.TestCase):
    def findings(self, path, text):
        with tempfile.TemporaryDirectory() as top:
            os.makedirs(os.path.dirname(os.path.join(top, path)))
            with open(os.path.join(top, path), "w", encoding="utf-8") as stream:
                stream.write(text)
            return list(tree.findings(top))

    def test_operators_named_in_exports(self):
        for text, expected in NAMED:
            with self.subTest(text=text), tempfile.TemporaryDirectory() as top:
                for path, content in (("src/ops/meson.build", "'composed': [\n 'pad',\n]"),
                                      ("src/ops/elementwise/table.h", "FUNCTION(min, x,\n"),
                                      ("src/ops/shape/shape.rows.c", '{ .op = "add" },'),
                                      ("src/export/a.c", text), ("src/ops/shape/b.rows.c", text)):
                    os.makedirs(os.path.dirname(os.path.join(top, path)), exist_ok=True)
                    with open(os.path.join(top, path), "w", encoding="utf-8") as stream:
                        stream.write(content)
                found = [line.removeprefix("src/export/a.c:") for line in tree.findings(top)]
                self.assertEqual(len(found), len(expected), found)
                for line, start in zip(found, expected):
                    self.assertTrue(line.startswith(start), line)

    def written(self, top, contents):
        for path, content in contents.items():
            os.makedirs(os.path.dirname(os.path.join(top, path)), exist_ok=True)
            with open(os.path.join(top, path), "w", encoding="utf-8") as stream:
                stream.write(content)
        return list(tree.findings(top))

    def test_circles_of_folders_are_noticed(self):
        down = {"src/nn/a.h": "int a;\n", "src/nn/layers/b.h": '#include "nn/a.h"\n', "src/nn/deep/c.h": "int c;\n"}
        for more, circle in (({}, 0), ({"src/nn/d.c": '#include "nn/layers/b.h"\n'}, 2),
                             ({"src/nn/deep/c.h": '#include "nn/layers/b.h"\n', "src/nn/a.h": '#include "nn/deep/c.h"\n'}, 3)):
            with self.subTest(more=more), tempfile.TemporaryDirectory() as top:
                found = self.written(top, {**down, **more})
                self.assertEqual(len(found), circle, found)
                self.assertTrue(all("a circle" in line for line in found), found)

    def test_functions_of_one_file_are_noticed(self):
        header = {"src/nn/a.h": "/** adzi_one(x) */\nint adzi_one(int x);\n"}
        body = {"src/nn/a.c": '#include "nn/a.h"\nint adzi_one(int x)\n{\n    return x;\n}\n'}
        for more, found_in in (({}, 1), ({"src/nn/b.c": "int y = adzi_one(1);\n"}, 0),
                               ({"tests/nn/b.c": "int y = adzi_one(1);\n"}, 0),
                               ({"src/nn/b.c": "/* adzi_one(1) */\n"}, 1),
                               ({"src/nn/b.h": "#define CALL(name) adzi_o##name(1)\n"}, 0)):
            with self.subTest(more=more), tempfile.TemporaryDirectory() as top:
                found = self.written(top, {**header, **body, **more})
                self.assertEqual(len(found), found_in, found)
                self.assertTrue(all("make it static" in line for line in found), found)

    def test_breaks_are_noticed(self):
        for path, text, message in BREAKS:
            with self.subTest(message=message):
                found = self.findings(path, text)
                self.assertEqual(len(found), 1, found)
                self.assertIn(message, found[0])

    def test_kept_rules_are_quiet(self):
        for path, text in KEEPS:
            with self.subTest(path=path):
                self.assertEqual(self.findings(path, text), [])


if __name__ == "__main__":
    unittest.main()
