#!/usr/bin/env python3
"""Runs an exported network on other machines than this one: a Cortex-M4F under qemu, and
WebAssembly under node. Each predicts and trains, and the sizes are those that net.h announces. There are
two steps: one with the mean squared error and Adam, and one with a loss of its own, a frozen layer, clipped
gradients and RMSprop.

usage: targets.py SAMPLE [host] [cortex] [wasm]

SAMPLE is the program export_sample of the build. A machine whose tools are missing is left out; the
status is 77 if that leaves none, and 1 if one of them computes something else.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

WARNINGS = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wdouble-promotion", "-Werror"]

MAIN = r"""
#include <stdio.h>
#include "net.h"
#include "expected.h"

static int differs(const char *what, int i, double ours, double theirs, double tolerance)
{
    double d = ours - theirs;
    d = d < 0 ? -d : d;
    if (!(d <= tolerance)) {
        printf("%s %d: %.9g and not %.9g\n", what, i, ours, theirs);
        return 1;
    }
    return 0;
}

int main(void)
{
    static float result[N_Y];
    int wrong = 0;
    net_run(x, result);
    for (int i = 0; i < N_Y; ++i) {
        wrong += differs("prediction", i, result[i], y[i], 1e-6 * LARGEST_Y);
    }
    for (int i = 0; i < N_LOSSES; ++i) {
        static float loss;
        net_step(x, target, &loss);
        wrong += differs("loss", i, loss, losses[i], 1e-4 * losses[i] + 1e-9);
    }
    static unsigned char file[NET_WEIGHTS_FILE_BYTES];
    static float ignored;
    net_weights_get(file);
    net_step(x, target, &ignored); /* which the file takes back */
    if (net_weights_set(file, NET_WEIGHTS_FILE_BYTES - 1) != 1 ||
        net_weights_set(file, NET_WEIGHTS_FILE_BYTES) != 0) {
        printf("the file of weights is not read\n");
        return 1;
    }
    net_run(x, result);
    for (int i = 0; i < N_TRAINED; ++i) {
        wrong += differs("trained prediction", i, result[i], trained[i], 2e-3);
    }
    printf("%s\n", wrong == 0 ? "as in the library" : "differs");
    return wrong != 0;
}
"""

# What runs before main on the microcontroller: the table of vectors, and the FPU switched on.
STARTUP = r"""
#include <stdint.h>
extern uint32_t stack_top;
extern void _start(void);

void reset(void);
void reset(void)
{
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20;
    __asm volatile("dsb\n isb");
    _start();
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = { &stack_top,
    (const void *)reset };
"""

LINKER = """
MEMORY { code (rx) : ORIGIN = 0, LENGTH = 1M
         data (rwx) : ORIGIN = 0x20000000, LENGTH = 256K }
SECTIONS {
  .text : { KEEP(*(.vectors)) *(.text*) *(.init) *(.fini) *(.rodata*) } > code
  .ARM.exidx : { *(.ARM.exidx*) } > code
  .data : { *(.data*) . = ALIGN(8); } > data
  .bss : { __bss_start__ = .; *(.bss*) *(COMMON) . = ALIGN(8); __bss_end__ = .; end = .; __end__ = .; } > data
  stack_top = ORIGIN(data) + LENGTH(data);
  __stack = stack_top;
}
"""

NODE = r"""
const fs = require('fs');
const expected = JSON.parse(fs.readFileSync('expected.json'));
const module_ = new WebAssembly.Module(fs.readFileSync('net.wasm'));
const e = new WebAssembly.Instance(module_).exports;
let wrong = 0;
const base = e.__heap_base.value;
const room = count => { const at = room.next; room.next += 4 * count; return at; };
room.next = (base + 15) & ~15;
const copied = values => {
  const at = room(values.length);
  new Float32Array(e.memory.buffer, at, values.length).set(values);
  return at;
};
const x = copied(expected.x), target = copied(expected.target), y = room(expected.y.length), loss = room(1);
const compare = (what, ours, theirs, tolerance) => {
  if (!(Math.abs(ours - theirs) <= tolerance)) {
    console.log(`${what}: ${ours} and not ${theirs}`);
    wrong = 1;
  }
};
const predictions = (what, theirs, tolerance) => {
  e.net_run(x, y);
  const ours = new Float32Array(e.memory.buffer, y, theirs.length);
  theirs.forEach((value, i) => compare(what, ours[i], value, tolerance));
};
predictions('prediction', expected.y, 1e-6 * Math.max(...expected.y.map(Math.abs)));
expected.losses.forEach(right => {
  e.net_step(x, target, loss);
  compare('loss', new Float32Array(e.memory.buffer, loss, 1)[0], right, 1e-4 * right + 1e-9);
});
predictions('trained prediction', expected.trained, 2e-3);
console.log(wrong ? 'differs' : 'as in the library');
process.exit(wrong);
"""


def run(command, folder):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=300)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}:\n{done.stdout}")
    return done.stdout.strip()


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def make_expected(folder):
    with open(os.path.join(folder, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    lines = [f"#define LARGEST_Y {max(abs(v) for v in expected['y'])!r}"]
    for name in ("x", "target", "y", "losses", "trained"):
        values = ", ".join(f"{v!r}f" if "." in repr(v) or "e" in repr(v) else f"{v!r}.0f"
                           for v in expected[name])
        lines.append(f"#define N_{name.upper()} {len(expected[name])}")
        lines.append(f"static const float {name}[] = {{ {values} }};")
    write(folder, "expected.h", "\n".join(lines) + "\n")


def check_sizes(folder, nm, size, target):
    """The arrays take as many bytes as net.h says; prints them with the size of the code. sizes.o was compiled without
    optimisation, which may leave out elements that one function alone uses."""
    with open(os.path.join(folder, "net.h"), encoding="utf-8") as file:
        announced = {name: int(value) for name, value in
                     re.findall(r"#define NET_(WEIGHTS|BUFFER|STATE)_BYTES\s+(\d+)", file.read())}
    found = {"WEIGHTS": 0, "BUFFER": 0, "STATE": 0}
    for line in run([nm, "-S", "sizes.o"], folder).splitlines():
        match = re.match(r"\w+ (\w+) ([dDbBrR]) (\w[\w.]*)$", line)
        if match:
            name = match.group(3)
            kind = "BUFFER" if name in ("floats", "integers", "bytes", "doubles") else \
                "WEIGHTS" if re.match(r"(w_|c\d|net_weights_(?!kept))", name) else "STATE"
            found[kind] += int(match.group(1), 16)
    if found != announced:
        raise SystemExit(f"{target}: net.h announces {announced}, sizes.o has {found}")
    code = run([size, "net.o"], folder).splitlines()[1].split()[0]
    print(f"{target}: code and constants {code} bytes, weights {found['WEIGHTS']}, buffers "
          f"{found['BUFFER']}, optimizer {found['STATE']}: as announced")


def has(*tools):
    return all(shutil.which(tool) for tool in tools)


def host(folder):
    compiled = False
    for compiler in ("gcc", "clang"):
        if has(compiler, "nm", "size"):
            run([compiler, *WARNINGS, "-O2", "-c", "net.c"], folder)
            run([compiler, "-O0", "-c", "net.c", "-o", "sizes.o"], folder)
            check_sizes(folder, "nm", "size", compiler)
            run([compiler, "-O2", "main.c", "net.o", "-o", "host"], folder)
            print(f"{compiler}: {run(['./host'], folder)}")
            compiled = True
    return compiled


def cortex(folder):
    if not has("arm-none-eabi-gcc", "qemu-system-arm"):
        return False
    machine = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
    compiler = ["arm-none-eabi-gcc", *machine, "-O2"]
    write(folder, "startup.c", STARTUP)
    write(folder, "board.ld", LINKER)
    run([*compiler, *WARNINGS, "-c", "net.c"], folder)
    run([*compiler, "-O0", "-c", "net.c", "-o", "sizes.o"], folder)
    check_sizes(folder, "arm-none-eabi-nm", "arm-none-eabi-size", "Cortex-M4F")
    run([*compiler, "-c", "main.c", "startup.c"], folder)
    run([*compiler, "--specs=rdimon.specs", "-T", "board.ld", "main.o", "startup.o", "net.o", "-o",
         "net.elf"], folder)
    output = run(["qemu-system-arm", "-M", "mps2-an386", "-cpu", "cortex-m4", "-nographic", "-monitor",
                  "none", "-serial", "null", "-semihosting-config", "enable=on,target=native", "-kernel",
                  "net.elf"], folder)
    if "as in the library" not in output:
        raise SystemExit(f"Cortex-M4F: {output}")
    print(f"Cortex-M4F: {output}")
    return True


def wasm(folder):
    if not has("clang", "wasm-ld", "node"):
        return False
    run(["clang", "--target=wasm32", *WARNINGS, "-O2", "-ffreestanding", "-nostdlib", "-Wl,--no-entry",
         "-Wl,--export=net_run", "-Wl,--export=net_step", "-Wl,--export=__heap_base", "net.c", "-o",
         "net.wasm"], folder)
    write(folder, "net.js", NODE)
    print(f"WebAssembly: {os.path.getsize(os.path.join(folder, 'net.wasm'))} bytes, "
          f"{run(['node', 'net.js'], folder)}")
    return True


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    machines = {"host": host, "cortex": cortex, "wasm": wasm}
    wanted = sys.argv[2:] or list(machines)
    ran = 0
    for options in ([], ["own"]):
        with tempfile.TemporaryDirectory() as folder:
            run([os.path.abspath(sys.argv[1]), folder, *options], folder)
            make_expected(folder)
            write(folder, "main.c", MAIN)
            for name in wanted:
                if machines[name](folder):
                    ran += 1
                else:
                    print(f"{name}: left out, its tools are missing")
    sys.exit(0 if ran > 0 else 77)


if __name__ == "__main__":
    main()
