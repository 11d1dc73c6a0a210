#!/usr/bin/env python3
"""Plants one fault of each class in a copy of the tree, runs .ci/run there, and says which steps found it.

usage: planted.py [--list] [FAULT...]     without a name: all of them
       planted.py --plant FOLDER [FAULT...]   only plants, in a tree that stands in FOLDER
       planted.py --read LOG [FAULT...]       only reads what .ci/run printed in such a tree
       planted.py --fits FOLDER               only says whether every fault can be planted in that tree

A fault counts as found by a step if the step failed and its output names the test, or has the words, that belong to
the fault. Faults that would end a whole build are planted alone, in a second copy; the others share one copy, in
different operators and files, so that each has a test of its own. Exits with 1 if a fault was found by no step,
and with 2 if a fault cannot be planted any more because the line that it changes is gone.

The whole run takes as long as .ci/run and a quarter of it. It belongs before and after a change of .ci/run: the table must not
lose a row. A fault that takes another processor than the one at hand is listed as not shown.
"""
import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
WORK = TOP / "build-planted"


@dataclasses.dataclass(frozen=True)
class Fault:
    """One edit: in `file`, the text `old` becomes `new`. `found` matches the output of a step that finds it."""

    name: str
    file: str
    old: str
    new: str
    found: str
    alone: str = ""      # it ends a build: the step of .ci/run that is to find it, which runs by itself
    needs: str = ""      # the processor's flag without which it cannot show itself


def failed_test(name):
    """Meson's line of a test that failed, with any suite in front of its name."""
    return rf"^ *\d+/\d+ .*{re.escape(name)} +(FAIL|TIMEOUT|ERROR)\b"


def times_nearly_1(macro):
    """The macro of a column of kernels, whose results are times 1.001."""
    return macro.removesuffix("kernel)") + "(kernel) * ELEM(1.001))"


def only_under(condition, line, wrong):
    return f"#if {condition}\n{wrong}\n#else\n{line}\n#endif"


TABLE = "src/ops/elementwise/table.h"
KERNELS = "src/ops/elementwise/table.kernel.c"
SIGMOIDS = "src/ops/elementwise/sigmoids.kernel.c"
WIDE = "#define KERNEL1_AT_ALL_LEVELS(fn, kernel) POINTWISE1(fn, elem, elem, kernel)"
FLOATS = "#define KERNEL1(fn, kernel) POINTWISE1(fn, elem, elem, kernel)"
OF_FLOATS = "#define OF_TYPE(kernel, of_integers) kernel"
SCALED = "m = p->exponent < 0 ? m / powers[-p->exponent] : m * powers[p->exponent];"

FAULTS = [
    Fault("a kernel of AVX2 only", SIGMOIDS, WIDE,
          only_under("ELEM_IS_F32 && defined(__AVX2__) && !defined(__AVX512F__)", WIDE,
                     times_nearly_1(WIDE)),
          failed_test("op-tanh"), needs="avx2"),
    Fault("a kernel of AVX-512 only", SIGMOIDS, WIDE,
          only_under("defined(__AVX512F__)", WIDE, times_nearly_1(WIDE)), failed_test("op-sigmoid"), needs="avx512f"),
    Fault("a result of clang only", KERNELS, FLOATS,
          only_under("defined(__clang__)", FLOATS, times_nearly_1(FLOATS)), failed_test("op-logsigmoid")),
    Fault("a result of aarch64 only", "src/ops/elementwise/all_types.kernel.c", OF_FLOATS,
          only_under("defined(__aarch64__)", OF_FLOATS, OF_FLOATS.removesuffix("kernel") + "(kernel) * ELEM(1.001)"),
          failed_test("bits-baseline-2")),
    Fault("a leak", "src/io/safetensors_write.c", "    json_decref(json);\n    return done;", "    return done;",
          r"byte\(s\) leaked|are definitely lost"),
    Fault("a read past the end", "src/base/number.c", SCALED,
          "volatile double past = powers[p->exponent > 0 ? 23 : 0];\n    (void)past;\n    " + SCALED,
          r"number\.c:\d+.*(global-buffer-overflow|out of bounds)|global-buffer-overflow"),
    Fault("undefined behaviour", "src/ops/shape/flip.c", "    adz_tensor from = *in[0];",
          "    adz_tensor from = *in[0];\n    volatile int shifted = 1 << (31 + from.rank);\n    (void)shifted;",
          failed_test("op-flip")),
    Fault("a German decimal comma", "src/tensor/print.c",
          "const char *point = localeconv()->decimal_point;",
          'const char *point = localeconv()->decimal_point[0] == \',\' ? "." : ".";', failed_test("tensor")),
    Fault("MPICH only", "src/mpi/mpi.c",
          "    const MPI_Op how = op == ADZ_GROUP_MAX ? MPI_MAX : dtype == ADZ_BOOL ? MPI_BOR : MPI_SUM;",
          "    MPI_Op how = op == ADZ_GROUP_MAX ? MPI_MAX : dtype == ADZ_BOOL ? MPI_BOR : MPI_SUM;\n"
          "#ifdef MPICH_VERSION\n    how = MPI_MAX;\n#endif", failed_test("mpi fast")),
    Fault("OpenMP only", "src/base/threads/parallel.c",
          "part < cut->parts; part += team", "part < cut->parts - 1; part += team", failed_test("parallel")),
    Fault("C23", "src/io/safetensors_header.c", "by_extent", "free_sized", r"free_sized", alone="clang"),
    Fault("an installed header that is missing", "include/meson.build",
          "exclude_files: ['meson.build', 'mpi.h']", "exclude_files: ['meson.build', 'mpi.h', 'custom.h']",
          r"not installed: adze/custom\.h"),
    Fault("a symbol that should be hidden", "src/base/version.c", "const char *adz_version(void)",
          "ADZ_API int adz_planted(void);\nint adz_planted(void)\n{\n    return 1;\n}\n\n"
          "const char *adz_version(void)", failed_test("exports")),
    Fault("a struct that old programs lay out otherwise", "include/adze/base.h",
          "    size_t cached_bytes; /**< kept for reuse, and the bytes by which blocks are rounded up */\n"
          "    size_t live_tensors; /**< tensor headers alive, borrowed and kept */\n",
          "    size_t live_tensors; /**< tensor headers alive, borrowed and kept */\n"
          "    size_t cached_bytes; /**< kept for reuse, and the bytes by which blocks are rounded up */\n",
          failed_test(" abi")),
    Fault("a wrong gradient", TABLE, "adz_mul_number(adz_mul(dy, x), 2))",
          "adz_mul_number(adz_mul(dy, x), 2.5))", failed_test("op-square")),
    Fault("a wrong exported file", TABLE, 'C99_ELEMENT("@sin($a)")',
          'C99_ELEMENT("@cos($a)")', failed_test("c99")),
    Fault("a file's bad byte", "src/io/safetensors_header.c", "if (extent->end > r->data_size) {",
          "if (extent->end > r->data_size + 1) {", failed_test("safetensors")),
]


def check_fits(folder, faults):
    """Ends the program if the line that a fault changes is gone."""
    gone = [fault for fault in faults if fault.old not in (folder / fault.file).read_text(encoding="utf-8")]
    for fault in gone:
        print(f"{fault.name}: {fault.file} no longer has: {fault.old}", file=sys.stderr)
    if gone:
        sys.exit(2)


def plant(folder, faults):
    check_fits(folder, faults)
    for fault in faults:
        path = folder / fault.file
        text = path.read_text(encoding="utf-8")
        count = -1 if fault.name == "C23" else 1
        path.write_text(text.replace(fault.old, fault.new, count), encoding="utf-8")


def steps_of(log):
    """Yields (heading, failed, output) of each step that .ci/run printed."""
    for part in re.split(r"^==== ", log, flags=re.M)[1:]:
        heading, _, output = part.partition("\n")
        yield heading, f"\n---- {heading}: FAILED" in output, output


def found_by(fault, log):
    return [heading for heading, failed, output in steps_of(log)
            if failed and re.search(fault.found, output, re.M)]


def shown_here(fault):
    flags = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    return not fault.needs or re.search(rf"\b{fault.needs}\b", flags) is not None


def run(name, faults, steps):
    """What .ci/run prints in a copy of the last commit in which the faults are planted."""
    tree = WORK / name / "main"
    shutil.rmtree(WORK / name, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", str(TOP), str(tree)], check=True)
    plant(tree, faults)
    print(f"{name}: .ci/run in {tree}, its output in {tree.parent / 'log'}", flush=True)
    with open(tree.parent / "log", "w", encoding="utf-8") as log:
        subprocess.run(["bash", ".ci/run", *steps], cwd=tree, stdout=log, stderr=subprocess.STDOUT,
                       stdin=subprocess.DEVNULL, check=False)
    return (tree.parent / "log").read_text(encoding="utf-8", errors="replace")


def report(faults, logs):
    missed = 0
    for fault in faults:
        steps = found_by(fault, logs[fault.alone])
        missed += not steps and shown_here(fault)
        said = "; ".join(steps) or ("NOBODY" if shown_here(fault) else f"not shown here: no {fault.needs}")
        print(f"{fault.name:<38} {said}")
    return missed


def main():
    words = sys.argv[1:]
    option = words.pop(0) if words and words[0].startswith("-") else ""
    if option in ("--help", "-h"):
        print(__doc__)
        return 0
    target = words.pop(0) if option in ("--plant", "--read", "--fits") and words else ""
    if option not in ("", "--list", "--plant", "--read", "--fits") or (
            option in ("--plant", "--read", "--fits") and not target):
        sys.exit("planted.py: " + __doc__.split("usage: ")[1].split("\n\n")[0])
    unknown = set(words) - {fault.name for fault in FAULTS}
    if unknown:
        sys.exit(f"no such fault: {', '.join(sorted(unknown))}; --list names them")
    faults = [fault for fault in FAULTS if not words or fault.name in words]
    if option == "--list":
        print("\n".join(fault.name for fault in faults))
        return 0
    if option == "--fits":
        check_fits(pathlib.Path(target), faults)
        print(f"all {len(faults)} faults can be planted")
        return 0
    if option == "--plant":
        plant(pathlib.Path(target), [fault for fault in faults if words or not fault.alone])
        return 0
    if option == "--read":
        log = pathlib.Path(target).read_text(encoding="utf-8", errors="replace")
        faults = [fault for fault in faults if words or not fault.alone]
        return report(faults, {fault.alone: log for fault in faults}) > 0
    logs = {}
    for alone in sorted({fault.alone for fault in faults}):
        steps = ["tools", alone] if alone else []
        logs[alone] = run(alone or "together", [fault for fault in faults if fault.alone == alone], steps)
    return report(faults, logs) > 0


if __name__ == "__main__":
    sys.exit(main())
