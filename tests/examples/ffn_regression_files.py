#!/usr/bin/env python3
"""The files of ffn-regression: a training that goes on, column names, paths, files of other kinds.

usage: ffn_regression_files.py PROGRAM
"""

import errno
import json
import math
import os
import re
import signal
import struct
import subprocess
import sys
import time

from ffn_program import content, made_up_rows, metadata, result, write_table
from program import PROGRAM, WRAPPER, drawn, misused, perform, refused, run, same_without_capture


def stopped_at(path, arguments, number):
    """Begins a training and sends a signal when the file is there; what the program printed. A
    training that was over before the signal came is begun again."""
    for _ in range(100):
        if os.path.exists(path):
            os.remove(path)
        process = subprocess.Popen([*WRAPPER, PROGRAM, *map(str, arguments)], text=True,
                                   stdout=subprocess.PIPE)
        while not os.path.exists(path) and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(number)
        output = process.communicate(timeout=60)[0]
        if process.returncode == -signal.SIGKILL or "stopped by" in output:
            break
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number), output
    return output


def goes_on():
    """A training that was stopped anywhere, and went on, comes to the same bits."""
    write_table("on.csv", [row[:2] + row[3:] for row in made_up_rows(2000)], ("a", "b", "y"))
    write_table("wide.csv", [[i * k % 17 for k in range(8)] for i in range(2000)],
                [f"x{k}" for k in range(8)])
    table = ["--data", "on.csv", "--target", "y"]
    for i, more in enumerate((
            ["--dropout", 0.1, "--patience", 55],
            [*table, "--scheduler", "none", "--validation", 0, "--batch-size", 77],
            ["--scheduler", "step", "--gated", "--seed", 3, "--test", 0.3],
            [*table, "--scheduler", "exponential", "--momentum", 0, "--hidden", "20,10"])):
        common = ["--epochs", 60, "--save-every", 1, "--plot", "none", *more]
        whole = run(*common, "--save", "whole.st", "--history", "whole.csv")
        parts = ["--save", "part.st", "--history", "part.csv"]
        number = (signal.SIGTERM, signal.SIGKILL)[i % 2]
        output = stopped_at("part.st", [*common, *parts], number)
        if number == signal.SIGTERM:
            assert "stopped by SIGTERM in epoch" in output, output
        assert "training.epochs" in metadata("part.st")
        prediction = run("--predict", "on.csv" if table[0] in more else "wide.csv", "--load", "part.st")
        assert "2000 predictions" in prediction
        # the settings are the file's, and may be said again
        again = [*common, "--load", "part.st"] if i < 2 else \
            ["--load", "part.st", "--plot", "none", *(table if table[0] in more else [])]
        if number == signal.SIGKILL:  # as if it had come while the training was saved
            with open("part.st.training.tmp", "w", encoding="ascii") as stream:
                stream.write("half of a checkpoint")
        output = run(*again, "--history", "part.csv")
        assert re.search(r"part.st: its training goes on after epoch \d+ of 60", output), output
        assert content("part.st") == content("whole.st") and content("part.csv") == content("whole.csv")
        keep = re.compile(r"seconds=\S+|history: \S+|model: \S+")
        assert keep.sub("", output).splitlines()[-7:] == keep.sub("", whole).splitlines()[-7:]
        assert "training" not in metadata("part.st")["__metadata__"]
        assert not os.path.exists("part.st.training.tmp")


def captured():
    """Captured steps have the bits of ordinary ones, and each of the two goes on with the other's files."""
    rows = [row[:2] + row[3:] for row in made_up_rows(151)]
    write_table("steps.csv", rows, ("a", "b", "y"))
    common = ["--epochs", 9, "--plot", "none", "--save", "s.st", "--history", "s.csv"]
    table = ["--data", "steps.csv", "--target", "y", "--test", 0.1, "--validation", 0.1]  # 122 rows
    same_without_capture(["s.st", "s.csv"], *common, *table, "--batch-size", 33, "--dropout", 0.2)
    same_without_capture(["s.st", "s.csv"], *common, *table, "--batch-size", 1000, "--gated", "--scheduler", "step")
    common += ["--save-every", 1, "--epochs", 40, "--dropout", 0.1]
    whole = run(*common)
    wanted = content("s.st"), content("s.csv")
    for first, then in ([], ["--no-capture"]), (["--no-capture"], []):
        stopped_at("s.st", [*common, *first], signal.SIGKILL)
        run(*common, "--load", "s.st", *then)
        assert (content("s.st"), content("s.csv")) == wanted, whole
    parts = ["--epochs", 2, "--plot", "none", "--micro-batches", 2]
    said = "the training is divided into parts, so its steps are not captured"
    assert said in run(*parts) and said not in run(*parts, "--no-capture")
    assert said not in whole


def micro_batches():
    """Rows are trained in parts. A last batch with fewer rows than parts joins the batch before it."""
    rows = [row[:2] + row[3:] for row in made_up_rows(151)]
    write_table("odd.csv", rows, ("a", "b", "y"))
    for rest, name in (([], "odd"), (["--dropout", 0.2], "drop")):
        common = ["--data", "odd.csv", "--target", "y", "--epochs", 12, "--save-every", 1, "--plot", "none",
                  "--test", 0.1, "--validation", 0, "--batch-size", 33, *rest]  # 136 rows: 4 batches, 4 rows
        plain = result(run(*common, "--save", name))
        output = run(*common, "--save", name + "4", "--micro-batches", 4)
        assert "\n1 rank; 4 micro-batches\n" in output
        joined = result(run(*common, "--save", name + "5", "--micro-batches", 5))
        close = abs(result(output)["test_rmse"] - plain["test_rmse"]) < 1e-3 * plain["test_rmse"]
        assert close == (not rest), "parts change rounding, and dropout"
        assert joined["test_rmse"] != result(output)["test_rmse"], "the last batch is joined"
    stopped_at("part5", [*common, "--save", "part5", "--micro-batches", 5], signal.SIGKILL)
    refused("--micro-batches 4: the training in part5 goes on with 5", "--load", "part5", "--micro-batches", 4,
            *common)
    run("--load", "part5", *common, "--history", "h.csv")
    assert content("part5") == content("drop5")
    few = ["--data", "odd.csv", "--target", "y", "--plot", "none", "--save", "few"]
    misused("--micro-batches 8: a batch of 7 rows cannot be cut into so many", *few, "--batch-size", 7,
            "--micro-batches", 8)
    misused("--micro-batches 500: a batch of 109 rows cannot be cut", *few, "--batch-size", 1000,
            "--micro-batches", 500)
    assert not os.path.exists("few")


def goes_on_only_with_the_same():
    """What would not come to the same bits is an error that says what to do."""
    common = ["--plot", "none", "--epochs", 100000, "--save-every", 1]
    stopped_at("b.st", [*common, "--save", "b.st", "--lr", 0.01], signal.SIGTERM)
    before = content("b.st")
    load = ["--load", "b.st", "--plot", "none"]
    for option, value, there in (("--lr", "0.02", "0.01"), ("--epochs", "7", "100000"),
                                 ("--scheduler", "step", "cosine"), ("--seed", "2", "1"),
                                 ("--validation", "0.5", "0.1")):
        output = refused(f"{option} {value}", option, value, *load)
        assert "the training in b.st goes on with " + there[:3] in output and "--restart" in output
    refused("--hidden: b.st was made with --hidden 50", "--hidden", "50,50", *load)
    refused("--activation tanh: b.st was made with relu", "--activation", "tanh", *load)
    refused("--dropout 0.5: b.st was made with 0", "--dropout", "0.5", *load)
    refused("--gated: b.st was made without gates", "--gated", *load)
    with open("some.txt", "w", encoding="utf-8") as stream:
        stream.write("\n".join(["x0,x1,x2,x3,x4,x5,x6,x7,y"] + [",".join(
            str((i * k + i) % 11) for k in range(1, 10)) for i in range(50)]))
    refused("b.st: the rows to train on, to validate and to test are not those that its training was "
            "begun with", *load, "--data", "some.txt")
    assert content("b.st") == before
    output = run(*load, "--restart", "--lr", 0.005, "--epochs", 2, "--save", "c.st")
    assert "b.st: another training begins from its weights" in output and result(output)["epochs"] == 2
    assert content("b.st") == before
    output = run("--load", "c.st", "--plot", "none", "--epochs", 2)
    assert "c.st: another training begins from its weights" in output
    misused("--restart belongs to --load", "--restart")


def changed(path, to, change):
    """A copy of a safetensors file, with header and data as change(header, data) makes them."""
    with open(path, "rb") as stream:
        size, = struct.unpack("<Q", stream.read(8))
        header, data = change(json.loads(stream.read(size)), stream.read())
    text = json.dumps(header).encode()
    with open(to, "wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text + data)


def changed_training():
    """Files of an interrupted training that this program did not write."""
    def set_metadata(key, value):
        def change(header, data):
            words = {k: v for k, v in {**header["__metadata__"], key: value}.items() if v is not None}
            return {**header, "__metadata__": words}, data
        return change

    def set_number(name, position, value):
        def change(header, data):
            begin = header[name]["data_offsets"][0] + 8 * position
            return header, data[:begin] + struct.pack("<d", value) + data[begin + 8:]
        return change

    def set_shape(name, shape, dtype):
        def change(header, data):
            return {**header, name: {**header[name], "shape": shape, "dtype": dtype}}, data
        return change

    stopped_at("d.st", ["--epochs", 100000, "--save-every", 1, "--plot", "none", "--save", "d.st"],
               signal.SIGTERM)
    n = metadata("d.st")["training.epochs"]["shape"][0]
    for change, message in (
            (set_metadata("training", "3"), "was saved by a later version"),
            (set_metadata("training", "1"), "which visited the rows in another order; add --restart"),
            (set_metadata("training.lr", None), "its metadata has no 'training.lr'"),
            (set_metadata("training.lr", "fast"), "e.st: --lr fast: a number from"),
            (set_metadata("training.epochs", "0"), "e.st: --epochs 0: a whole number from"),
            (set_metadata("training.scheduler", "slow"), "e.st: --scheduler slow: none, cosine"),
            (set_metadata("training.scheduler", "none"), None),
            (set_metadata("training.rows", None), "the rows to train on"),
            (set_metadata("training.epochs", str(n)), "its training of"),
            (set_number("training.numbers", 1, -1), "its training.numbers are not"),
            (set_number("training.numbers", 1, math.nan), "its training.numbers are not"),
            (set_number("training.numbers", 3, n + 1), "its training.numbers are not"),
            (set_shape("training.numbers", [2, 2], "F64"), "its training.numbers are not"),
            (set_shape("training.epochs", [4 * n], "F64"), "its training.epochs are not"),
            (set_shape("training.epochs", [n, 4], "I64"), "its training.epochs are not")):
        changed("d.st", "e.st", change)
        if message is not None:
            refused(message, "--load", "e.st", "--plot", "none", "--save", "f.st")
    assert not os.path.exists("f.st")


def names():
    """What would forbid saving or predicting is said before the training."""
    rows = [(f"{i % 7}", f"{i % 5}", f"{i % 3}") for i in range(60)]
    common = ["--epochs", 2, "--plot", "none", "--target", "y", "--save", "n.st"]
    with open("latin1.csv", "wb") as stream:
        stream.write(b"\344,b,y\n" + "\n".join(map(",".join, rows)).encode())
    output = refused("latin1.csv: the name of the column '\\xe4' is not UTF-8", "--data", "latin1.csv",
                     *common)
    assert "epoch " not in output and "convert the file to UTF-8" in output
    run("--data", "latin1.csv", *common, "--features", "b")
    write_table("double.csv", rows, ("a", "a", "y"))
    output = refused("double.csv: two columns are named 'a', and a model could not tell them apart",
                     "--data", "double.csv", *common)
    assert "epoch " not in output
    write_table("double.csv", rows, ("a", "y", "y"))
    refused("2 columns are named 'y'", "--data", "double.csv", *common)
    write_table("utf8.csv", rows, ("\u00e4 [m\u00b2]", "b", "y"))
    output = run("--data", "utf8.csv", "--target", "\u00e4 [m\u00b2]", "--plot", "utf8.svg", "--epochs", 2,
                 env={"LC_ALL": "C"})
    assert "\u00e4 [m\u00b2]" in drawn("utf8.svg")


def no_text():
    """A file of another kind is named as what it is."""
    for name, data, message in (
            ("t16.csv", "a,y\n1,2\n".encode("utf-16"), "it is UTF-16; save it as UTF-8"),
            ("t.xlsx", b"PK\x03\x04\x14\0", "it is a ZIP archive or a workbook; unpack it, or export"),
            ("t.csv.gz", b"\x1f\x8b\x08\0", "it is packed by gzip; unpack it first"),
            ("t.bin", b"\x7fELF\0\0", "it contains zero bytes; a text file is wanted")):
        with open(name, "wb") as stream:
            stream.write(data)
        refused(f"{name}: this is no text: {message}", "--data", name, "--target", "y")
        refused(f"{name}: this is no text: {message}", "--data", "on.csv", "--target", "y",
                "--test-rows", name)
    read, write = os.pipe()  # what is read from a pipe is read once
    with open("on.csv", "rb") as stream:
        os.write(write, stream.read(60000))
    os.close(write)
    done = subprocess.run([*WRAPPER, PROGRAM, "--data", f"/dev/fd/{read}", "--target", "y", "--epochs",
                           "1", "--plot", "none"], pass_fds=[read], check=False, stdout=subprocess.PIPE)
    os.close(read)
    assert done.returncode == 0, done


def same_files():
    """A file that is written is no other one of the command line, under any name."""
    os.mkdir("same")
    os.chdir("same")
    write_table("t.csv", [row[:2] + row[3:] for row in made_up_rows(50)], ("a", "b", "y"))
    before = content("t.csv")
    os.symlink("t.csv", "link.csv")
    os.link("t.csv", "hard.csv")
    os.symlink("new.st", "dangling.st")
    os.mkdir("sub")
    data = ["--data", "t.csv", "--target", "y", "--epochs", 1, "--plot", "none"]
    for option in "--save", "--history":
        for name in "t.csv", "./t.csv", "sub/../t.csv", "link.csv", "hard.csv", os.path.abspath("t.csv"):
            output = misused(f"--data t.csv and {option} {name} are the same file", *data, option, name)
            assert ("under two names" in output) == (name != "t.csv"), output
    misused("--save x.svg and --history ./x.svg are the same file", *data, "--save", "x.svg",
            "--history", "./x.svg")
    misused("--history x.svg and --plot x.svg are the same file", *data[:-2], "--history", "x.svg",
            "--plot", "x.svg")
    misused("--save dangling.st and --history sub/../new.st are the same file under two names", *data,
            "--save", "dangling.st", "--history", "sub/../new.st")
    run(*data, "--save", "new.st")
    misused("--load new.st and --history new.st are the same file", *data, "--load", "new.st",
            "--save", "other.st", "--history", "new.st")
    misused("--predict t.csv and --output link.csv are the same file", "--predict", "t.csv", "--load",
            "new.st", "--output", "link.csv")
    misused("--load new.st and --output new.st are the same file", "--predict", "t.csv", "--load",
            "new.st", "--output", "new.st")
    assert content("t.csv") == before
    os.symlink("loop", "loop")
    refused("loop: cannot be written: " + os.strerror(errno.ELOOP), *data, "--save", "loop")
    os.symlink("nowhere/x", "lost")
    refused("lost: is a link that leads nowhere", *data, "--save", "lost")
    refused("t.csv/m: cannot be written: " + os.strerror(errno.ENOTDIR), *data, "--save", "t.csv/m")
    refused("cannot be written: " + os.strerror(errno.ENAMETOOLONG), *data, "--save", "x" * 300)
    refused("cannot be written: " + os.strerror(errno.ENAMETOOLONG), *data, "--save", "x" * 250)
    run(*data, "--save", "/dev/null", "--history", "/dev/null")
    os.chdir("..")


def where_a_model_goes():
    """Without --save a loaded model goes back to where it came from."""
    run("--epochs", 2, "--plot", "none")
    unrelated = content("model.safetensors")
    run("--epochs", 2, "--plot", "none", "--save", "b.safetensors", "--seed", 2)
    first = content("b.safetensors")
    assert "model: b.safetensors, history" in run("--load", "b.safetensors", "--epochs", 2, "--plot", "none")
    assert content("model.safetensors") == unrelated and content("b.safetensors") != first
    run("--load", "b.safetensors", "--epochs", 2, "--plot", "none", "--save", "b.safetensors")


def exports_onnx():
    """The model as ONNX, after a training and from its file. tests/export/onnx_check.py runs it."""
    output = run("--epochs", 2, "--plot", "none", "--save", "o.st", "--export-onnx", "o.onnx")
    assert "ONNX: o.onnx" in output, output
    first = content("o.onnx")
    assert first.startswith(b"\x08\x08\x12\x04adze"), first[:20]
    for name in (b"input.mean", b"network.0.linear.weight", b"target.std", b"Gemm", b"batch"):
        assert name in first, name
    before = content("o.st")
    assert "from 8 columns as ONNX: p.onnx" in run("--load", "o.st", "--export-onnx", "p.onnx")
    assert content("p.onnx") == first and content("o.st") == before
    misused("--export-onnx with --load writes the loaded model", "--load", "o.st", "--predict", "o.st",
            "--export-onnx", "p.onnx")
    refused("o.st", "--load", "o.st", "--export-onnx", "o.st")
    refused("no/p.onnx: cannot be written", "--load", "o.st", "--export-onnx", "no/p.onnx")
    assert content("o.st") == before


def main():
    return perform([exports_onnx, goes_on, captured, micro_batches, goes_on_only_with_the_same, changed_training, names, no_text,
                    same_files, where_a_model_goes])


if __name__ == "__main__":
    sys.exit(main())
