#!/usr/bin/env python3
"""ship writes functions that agree with the library, and finds a file that does not.

usage: ship.py FFN_REGRESSION DIGITS SHIP COMPILER...
"""

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

TRAIN, DIGITS, SHIP = map(os.path.abspath, sys.argv[1:4])
COMPILER = " ".join(sys.argv[4:])


def run(*words, code=0):
    done = subprocess.run([str(w) for w in words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == code, (words, done.returncode, done.stdout)
    return done.stdout


def make_model():
    with open("t.csv", "w", encoding="utf-8") as file:
        file.write("a,b,c,y\n")
        for i in range(200):
            a, b, c = math.sin(i), math.cos(2.1 * i), math.sin(0.7 * i)
            file.write(f"{a},{b},{c},{a * b + c * c}\n")
    run(TRAIN, "--data", "t.csv", "--target", "y", "--epochs", 20, "--plot", "none", "--save", "m.st",
        "--hidden", "12,8", "--activation", "tanh", "--dropout", "0.1", "--export-onnx", "m.onnx")


def agrees():
    for more in ([], ["--jacobian", "--jvp", "--vjp"], ["--f64", "--hessian"], ["--f64", "--state", "caller"],
                 ["--casadi"], ["--casadi", "--hessian"]):
        said = run(SHIP, "m.st", "--c", "net.c", "--check", "--compiler", COMPILER, *more)
        assert "checked: net_run agrees" in said, said
        assert "140 multiply-adds a call" in said, said  # 3-12-8-1
        if more:
            assert said.count("checked:") > 1 or "caller" in more, said
    # A prefix and a folder of its own, and the files of CasADi compile without warnings.
    os.mkdir("f")
    run(SHIP, "m.st", "--c", "f/law.c", "--casadi", "--hessian", "--check", "--compiler", COMPILER)
    run(*COMPILER.split(), "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-c", "f/law_casadi.c",
        "-o", "law.o")
    assert sorted(os.listdir("f")) == ["law.c", "law.h", "law_casadi.c"], os.listdir("f")


def onnx():
    """The file leaves the number of rows free."""
    for more, rows in (([], 1), (["--inputs", "input=3,3", "--jacobian"], 3), (["--casadi", "--hessian"], 1)):
        said = run(SHIP, "m.onnx", "--c", "o.c", "--f64", "--check", "--compiler", COMPILER, *more)
        assert f"input[{rows}, 3] to output[{rows}, 1]" in said, said
        assert "checked: o_run agrees" in said and f"{140 * rows} multiply-adds a call" in said, said
    for shape, part in (("input=3", "where ? may be any size"), ("input=a", "a shape is up to"), ("x=1,3", "is 'input'"),
                        ("input=1,3,", "a shape is up to"), ("input=0,3", "a shape is up to")):
        assert part in run(SHIP, "m.onnx", "--c", "o.c", "--inputs", shape, code=2).replace("\n", " "), shape
    assert "'input' twice" in run(SHIP, "m.onnx", "--c", "o.c", "--inputs", "input=1,3", "--inputs", "input=2,3", code=2)
    for loss, optimizer in (("mse", "adam"), ("huber", "sgd"), ("mse", "adamw")):
        said = run(SHIP, "m.onnx", "--c", "o.c", "--f64", "--check", "--compiler", COMPILER, "--jacobian", "--inputs",
                   "input=4,3", "--train", f"{loss},{optimizer}", "--rate", "0.02", "--state", "caller")
        assert "checked: o_step agrees" in said, said
    for how, part in (("mse", "give a loss and an optimizer"), ("l1,adam", "mse"), ("mse,lion", "adamw")):
        assert part in run(SHIP, "m.onnx", "--c", "o.c", "--train", how, code=2), how
    assert "--jvp and --vjp take one" in run(SHIP, "m.onnx", "--c", "o.c", "--inputs", "input=400,3", "--hessian",
                                             code=1).replace("\n", " ")
    assert "is for ONNX files" in run(SHIP, "m.st", "--c", "o.c", "--inputs", "input=3", code=1)


def digits():
    """A classifier of 16 x 16 pixels."""
    run(DIGITS, "--examples", 60, "--channels", "4,8", "--epochs", 1, "--plot", "none", "--show", 0, "--save", "d.st")
    said = run(SHIP, "d.st", "--c", "d.c", "--f64", "--vjp", "--check", "--compiler", COMPILER)
    assert "x[1, 1, 16, 16] to y[1, 10]" in said and "checked: d_vjp agrees" in said, said
    assert "is for ONNX files" in run(SHIP, "d.st", "--c", "d.c", "--inputs", "x=1,1,16,16", code=1)


def write_other(path, metadata):
    head = json.dumps({"__metadata__": metadata, "x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})
    with open(path, "wb") as file:
        file.write(len(head).to_bytes(8, "little") + head.encode() + bytes(4))


def fortran():
    run(SHIP, "m.onnx", "--c", "Law.c", "--casadi", "--hessian", "--fortran", "--inputs", "input=2,3", "--train", "mse,sgd")
    with open("Law.f90", encoding="utf-8") as file:
        text = file.read()
    for line in ("real(c_double), intent(in) :: x(3, 2)", "real(c_double), intent(out) :: y1(6, 2, 1)",
                 "integer(c_int) function Law_step(state, x0, x1, &\n        y) &\n        bind(C, name=\"Law_step\")", "intent(out) :: y2(6, 1, 6, 1)"):
        assert line in text, (line, text)
    if shutil.which("gfortran"):
        run("gfortran", "-std=f2008", "-Wall", "-Wextra", "-Werror", "-c", "Law.f90")


def notices():
    """A compiler that changes one derivative by 1% stands for a wrong file."""
    with open("wrong.sh", "w", encoding="utf-8") as file:
        file.write("for w in \"$@\"; do case $w in *-check.c) sed -i 's/p\\[2\\]);/&"
                   " ((float *)p[2])[1] *= 1.01f;/' \"$w\";; esac; done; exec " + COMPILER + " \"$@\"\n")
    said = run(SHIP, "m.st", "--c", "net.c", "--jacobian", "--check", "--compiler", "sh wrong.sh", code=1)
    assert "net_jacobian differs from the library" in said, said
    with open("negative.sh", "w", encoding="utf-8") as file:
        file.write("sed -i 's/net_jacobian(state, x0, y + 0, d);/& d[1] = -d[1];/' net_casadi.c; exec " + COMPILER + " \"$@\"\n")
    said = run(SHIP, "m.st", "--c", "net.c", "--casadi", "--check", "--compiler", "sh negative.sh", code=1)
    assert "net_jacobian differs from the library" in said, said
    # A step that does not step gives the right loss once only.
    with open("forgets.sh", "w", encoding="utf-8") as file:
        file.write("sed -i 's/!ready && //' net-check.c; exec " + COMPILER + " \"$@\"\n")
    said = run(SHIP, "m.st", "--c", "net.c", "--f64", "--state", "caller", "--train", "mse,sgd", "--check", "--compiler",
               "sh forgets.sh", code=1)
    assert "net_step differs from the library" in said, said
    said = run(SHIP, "m.st", "--c", "net.c", "--check", "--compiler", "false", code=1)
    assert "--compiler names another one" in said, said


def refuses():
    for words, part in ((["m.st"], "--c is missing"), (["m.st", "--c", "net.h"], "ends with .c"),
                        (["--c", "net.c"], "give one model"),
                        (["m.st", "--c", "net.c", "--rate", "0.1"], "--train, which is missing")):
        assert part in run(SHIP, *words, code=2), words
    for metadata, part in (({"a": "b"}, "neither ffn-regression nor digits has saved"),
                           ({"tokenizer": "words"}, "text-classifier has saved this file"),
                           ({"outcomes": "1", "span": "2"}, "forecast has saved this file")):
        write_other("other.st", metadata)
        assert part in run(SHIP, "other.st", "--c", "net.c", code=1).replace("\n", " "), metadata


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    make_model()
    agrees()
    onnx()
    digits()
    fortran()
    notices()
    refuses()
print("ship writes what the library computes")
