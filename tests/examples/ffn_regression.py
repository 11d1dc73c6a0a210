#!/usr/bin/env python3
"""What a user of ffn-regression sees: training, pictures, predicting, Ctrl-C, bad input.

usage: ffn_regression.py PROGRAM

With ADZE_UCI_DATA in the environment, a folder of UCI data sets, it also trains on two of them.
"""

import csv
import errno
import json
import math
import os
import re
import signal
import struct
import subprocess
import sys

from ffn_program import made_up_rows, metadata, result, write_table
from program import PROGRAM, drawn, interrupted, misused, perform, refused, run

UCI = os.path.abspath(os.environ["ADZE_UCI_DATA"]) if "ADZE_UCI_DATA" in os.environ else None


def embedded():
    output = run("--epochs", 60)
    r = result(output)
    assert r["test_rmse"] < 1.6 and r["test_r2"] > 0.85 and r["trivial_rmse"] > 4, r
    assert r["test_rmse"] < r["ridge_rmse"] < r["trivial_rmse"], r
    assert r["epochs"] == 60
    assert "epoch 60/60" in output and "\r" not in output
    with open("history.csv", newline="", encoding="utf-8") as stream:
        history = list(csv.DictReader(stream))
    assert len(history) == 60
    assert float(history[-1]["train_rmse"]) < float(history[0]["train_rmse"]) / 2
    errors = [float(row["validation_rmse"]) for row in history]
    close = [epoch for epoch, error in enumerate(errors, 1) if error < 1.01 * min(errors)]
    assert f"the weights are those of epoch {close[-1]}\n" in output, (close, output)
    header = metadata("model.safetensors")
    assert header["network.0.linear.weight"]["shape"] == [50, 8]
    assert header["input.mean"]["shape"] == [8] and header["target.std"]["shape"] == [1]
    assert header["__metadata__"]["feature.7"] == "x7"
    again = run("--epochs", 60, "--threads", 1)
    assert result(again)["test_rmse"] == r["test_rmse"], "threads change the result"
    assert result(run("--epochs", 60, "--seed", 2))["test_rmse"] != r["test_rmse"]


def plots():
    """The picture holds both curves. One that cannot be written is reported, and the program ends with 1."""
    output = run("--epochs", 3)
    assert "loss curve: loss.svg" in output and {"training", "validation", "epoch", "RMSE"} <= set(drawn("loss.svg"))
    output = run("--epochs", 3, "--plot", "none")
    assert "loss curve" not in output and not os.path.exists("none")
    if os.path.exists("/dev/full"):
        os.symlink("/dev/full", "full.svg")
        output = run("--epochs", 3, "--plot", "full.svg", code=1)
        assert "ffn-regression: no loss curve: full.svg: " + os.strerror(errno.ENOSPC) in output, output
        result(output)


def texts_are_data():
    """Column names and paths that XML, a shell or a terminal would take for commands."""
    os.mkdir("texts")
    os.chdir("texts")
    rows = [(f"{0.37 * i % 1:.4f}", f"{0.73 * i % 1:.4f}", f"{i % 7}") for i in range(60)]
    name = "`touch pwned` \"$(touch pwned)\" it's @GPVAL_PWD {/Bold m}^2_3 \\n <&> | %s \\"
    common = ["--data", "t.csv", "--epochs", 2]
    write_table("t.csv", rows, ("a", "b", name))
    output = run(*common, "--target", name, "--plot", "p.svg")
    assert "loss curve: p.svg" in output and name in drawn("p.svg"), drawn("p.svg")
    for path in "|touch pwned #.svg", "<touch pwned #.svg", "'`touch pwned`'\"$(touch pwned)\".svg":
        output = run(*common, "--target", name, "--plot", path, "--history", path + ".csv")
        assert f"loss curve: {path}\n" in output and name in drawn(path)
        assert open(path + ".csv", encoding="utf-8").read().startswith("epoch,")
    bad = "a\nsystem(\"touch pwned\")\n#.svg"
    shown = "'a\\nsystem(\"touch pwned\")\\n#.svg': the name of a file to be written contains a control"
    for option in "--plot", "--history", "--save":
        assert "epoch " not in misused(shown, option, bad)
    evil = "y\nsystem(\"touch pwned\")\n#"
    write_table("t.csv", rows, ("a", "b", evil))
    shown = "the name of the column 'y\\nsystem(\"touch pwned\")\\n#' contains a control character"
    assert "epoch " not in refused(shown, *common, "--target", evil)
    write_table("t.csv", rows, ("a", "\x1b]0;b", "y"))
    assert "\x1b" not in refused("the name of the column '\\x1b]0;b' contains a control character",
                                *common, "--target", "y")
    write_table("t.csv", rows, ("a", "b", "y"))
    run(*common, "--target", "y", "--plot", "none", "--save", "good.safetensors")
    with open("good.safetensors", "rb") as stream:
        size, = struct.unpack("<Q", stream.read(8))
        header, data = json.loads(stream.read(size)), stream.read()
    for key in "target", "feature.1":
        changed = {**header, "__metadata__": {**header["__metadata__"], key: evil}}
        text = json.dumps(changed).encode()
        with open("evil.safetensors", "wb") as stream:
            stream.write(struct.pack("<Q", len(text)) + text + data)
        refused("evil.safetensors: the column name 'y\\nsystem(\"touch pwned\")\\n#' in its metadata "
                "contains a control character", *common, "--load", "evil.safetensors")
    assert not os.path.exists("pwned")
    os.chdir("..")


def real_table():
    write_table("table.csv", made_up_rows(400))
    with open("rows.txt", "w", encoding="utf-8") as stream:
        stream.write("0 1 2\n" + " ".join(str(i) for i in range(0, 400, 5)) + "\n")
    output = run("--data", "table.csv", "--target", "y", "--features", "a,b", "--test-rows",
                 "rows.txt", "--split", 1, "--hidden", "20,10", "--activation", "tanh", "--save",
                 "m.safetensors", "--epochs", 300, "--history", "h.csv", "--plot", "none")
    assert "80 to test" in output
    first = result(output)
    assert first["test_rmse"] < 0.5 and first["trivial_rmse"] > 2, first

    output = run("--predict", "table.csv", "--load", "m.safetensors", "--output", "p.csv")
    assert "400 predictions of 'y': p.csv" in output
    with open("p.csv", newline="", encoding="utf-8") as stream:
        predicted = [float(row["y"]) for row in csv.DictReader(stream)]
    wanted = [float(row[3]) for row in made_up_rows(400)]
    test = range(0, 400, 5)
    rmse = math.sqrt(sum((predicted[i] - wanted[i]) ** 2 for i in test) / len(test))
    assert abs(rmse - first["test_rmse"]) < 1e-3, (rmse, first)

    with open("row.txt", "w", encoding="utf-8") as stream:
        stream.write("7\n")
    one = result(run("--data", "table.csv", "--target", "y", "--features", "a,b", "--test-rows",
                     "row.txt", "--epochs", 1, "--plot", "none"))
    assert math.isnan(one["test_r2"]), one  # one row has no spread to explain
    output = run("--data", "table.csv", "--load", "m.safetensors", "--test-rows", "rows.txt",
                 "--split", 1, "--lr", 0.001, "--epochs", 1, "--plot", "none")
    assert result(output)["test_rmse"] < 1.3 * first["test_rmse"], output  # it did not start from the beginning


def large_numbers():
    """Predictions far from zero keep all their digits: nine of them would be wrong by hundreds here."""
    write_table("far.csv", [(i / 20, 1e12 + i / 20) for i in range(200)], ("a", "y"))
    first = result(run("--data", "far.csv", "--target", "y", "--save", "far.safetensors", "--epochs", 100, "--plot",
                       "none"))
    run("--predict", "far.csv", "--load", "far.safetensors", "--output", "far-p.csv")
    with open("far-p.csv", newline="", encoding="utf-8") as stream:
        predicted = [row["y"] for row in csv.DictReader(stream)]
    assert all(abs(float(y) - (1e12 + i / 20)) < 1 for i, y in enumerate(predicted)), predicted
    assert first["test_rmse"] < 0.5 and all(repr(float(y)).rstrip("0").rstrip(".") == y for y in predicted), predicted


def choices():
    for more in (["--gated", "--activation", "gelu"], ["--dropout", "0.1"], ["--scheduler", "step"],
                 ["--scheduler", "exponential"], ["--scheduler", "none", "--momentum", "0"],
                 ["--validation", "0"], ["--activation", "silu", "--hidden", "30,20,10"]):
        r = result(run("--epochs", 30, "--plot", "none", *more))
        assert r["test_rmse"] < 0.6 * r["trivial_rmse"], (more, r)
    output = run("--epochs", 2000, "--patience", 5, "--plot", "none")
    r = result(output)
    assert r["epochs"] < 1000 and "stopped early: no better validation RMSE for 5 epochs" in output
    best = int(re.search(r"the weights are those of epoch (\d+)", output).group(1))
    assert best == r["epochs"] - 5


def interrupt():
    for number, name in (signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM"):
        output = interrupted("--epochs", 10000000, "--plot", "none", "--save", "cut.safetensors",
                             "--history", "cut.csv", number=number)
        assert f"stopped by {name} in epoch" in output
        assert "; the same command with --load cut.safetensors goes on" in output
        assert result(output)["epochs"] > 0
        assert "input.mean" in metadata("cut.safetensors")
        with open("cut.csv", newline="", encoding="utf-8") as stream:
            assert len(list(csv.DictReader(stream))) == result(output)["epochs"]
        os.remove("cut.csv")


def whole_options():
    """Names are not abbreviated; a wrong one suggests the right one."""
    for arguments, message in (
            (["--epoch", "3"], "there is no option --epoch; is --epochs meant?"),
            (["--epoch=3"], "there is no option --epoch; is --epochs meant?"),
            (["--wieght-decay", "3"], "there is no option --wieght-decay; is --weight-decay meant?"),
            (["--batchsize", "3"], "there is no option --batchsize; is --batch-size meant?"),
            (["--frobnicate"], "there is no option --frobnicate\n"),
            (["-e", "3"], "there is no option -e; options begin with two dashes"),
            (["--epochs"], "--epochs needs a value"),
            (["--save", "--epochs", "3"], "--save needs a value; --epochs is the next option"),
            (["--gated=1"], "--gated takes no value"),
            (["--hidden", "10,,5"], "--hidden: between, before or after the commas a size is missing"),
            (["--hidden", ""], "--hidden: between, before or after the commas a size is missing"),
            (["--hidden", "10,"], "--hidden: between, before or after the commas a size is missing")):
        misused(message, *arguments)
    output = run("--epochs=2", "--gated", "--plot=none", "--save=--odd.st")
    assert "epoch 2/2" in output and os.path.exists("--odd.st")
    assert "usage: ffn-regression" in run("-h") and run("-h") == run("--help")


def bad_input():
    rows = made_up_rows(50)
    write_table("good.csv", rows)
    write_table("constant.csv", [(a, b, n, 7) for a, b, n, _ in rows])
    write_table("missing.csv", rows[:20] + [("", "1", "", "2")] + rows[20:])
    write_table("infinite.csv", rows[:20] + [("inf", "1", "", "2")] + rows[20:])
    write_table("narrow.csv", [(a, y) for a, _, _, y in rows], ("a", "y"))
    common = ["--target", "y", "--features", "a,b", "--plot", "none", "--epochs", "2"]
    refused("no column 'z'; there are 'a', 'b', 'note', 'y'", "--data", "good.csv", "--target", "z",
            "--features", "a,b")
    refused("line 2, column 3 (note): 'said \"no\", twice' is not a number", "--data", "good.csv",
            "--target", "y")
    refused("the target 'y' is 7 in every training row", "--data", "constant.csv", *common)
    refused("missing.csv: line 22, column 1 (a): '' is a missing value", "--data", "missing.csv",
            *common)
    refused("--missing drop leaves such rows out", "--data", "missing.csv", *common)
    output = run("--data", "missing.csv", "--missing", "drop", *common)
    assert "1 rows with missing values left out" in output
    refused("infinite.csv: row 20 (from 0, without the header) of column 'a' is inf", "--data",
            "infinite.csv", *common)
    with open("semicolons.csv", "w", encoding="utf-8") as stream:
        stream.write("a;b;y\n" + "".join(f"{i};{i % 7},5;{i % 5}\n" for i in range(50)))
    refused("it looks as if the delimiter is ';'; --delimiter names it", "--data", "semicolons.csv", "--target", "y",
            "--plot", "none")
    refused("set decimal to ','; --decimal , does so", "--data", "semicolons.csv", "--delimiter", ";", *common)
    misused("--decimal x: a point or a comma is wanted", "--data", "semicolons.csv", "--decimal", "x", *common)
    run("--data", "semicolons.csv", "--delimiter", ";", "--decimal", ",", *common)
    refused("none.csv: cannot be opened: No such file or directory", "--data", "none.csv", *common)
    run("--data", "good.csv", *common, "--save", "good.safetensors")
    refused("narrow.csv: there is no column 'b'; there are 'a', 'y'", "--data", "narrow.csv",
            "--load", "good.safetensors", "--plot", "none")
    refused("good.safetensors was trained to predict 'y' from 2 columns: go on with --data FILE.csv",
            "--load", "good.safetensors")
    refused("--target b: good.safetensors was trained to predict 'y'", "--data", "good.csv",
            "--target", "b", "--load", "good.safetensors")
    refused("--features: column 1 is 'b', good.safetensors was trained with 'a' there", "--data",
            "good.csv", "--features", "b,a", "--load", "good.safetensors")
    refused("--features names 1 columns, good.safetensors was trained on 2", "--data", "good.csv",
            "--features", "a", "--load", "good.safetensors")
    refused("narrow.csv: there is no column 'b'", "--predict", "narrow.csv", "--load",
            "good.safetensors")
    with open("good.safetensors", "rb") as stream:
        whole = stream.read()
    with open("cut.safetensors", "wb") as stream:
        stream.write(whole[:-5])
    refused("cut.safetensors: tensor", "--predict", "good.csv", "--load", "cut.safetensors")
    other = whole.replace(b'"shape":[50,2]', b'"shape":[2,50]')
    assert other != whole
    with open("other.safetensors", "wb") as stream:
        stream.write(other)
    refused("network.0.linear.weight ([2, 50] given, [50, 2] here)", "--predict", "good.csv",
            "--load", "other.safetensors")
    with open("empty.safetensors", "wb") as stream:
        stream.write(struct.pack("<Q", 2) + b"{}")
    refused("not saved by this program: its metadata has no 'features'", "--predict", "good.csv",
            "--load", "empty.safetensors")
    refused("row 50 is outside the dataset's 50 rows", "--data", "good.csv", "--test-rows",
            "far.txt", *common)
    refused("has 1 lines, so there is no split 3", "--data", "good.csv", "--test-rows", "far.txt",
            "--split", "3", *common)
    refused("line 1: 'x' is no row number", "--data", "good.csv", "--test-rows", "odd.txt", *common)
    refused("the loss is", "--lr", "1000000", "--epochs", "50")
    for option in "--save", "--history", "--plot":  # said before the training, not after it
        assert "epoch " not in refused("nowhere/m.svg: cannot be written into nowhere: " +
                                       os.strerror(errno.ENOENT), option, "nowhere/m.svg")
        os.makedirs("folder.svg", exist_ok=True)
        refused("folder.svg: is a folder; a file is to be written there", option, "folder.svg")
    for option in "--save", "--history":
        misused("'': a file to be written needs a name", option, "")
    refused("nowhere/p: cannot be written into nowhere", "--predict", "good.csv", "--load",
            "good.safetensors", "--output", "nowhere/p")
    refused("--plot loss.pdf: a file that ends in .svg is wanted, or none", "--plot", "loss.pdf")
    full = subprocess.run(f"exec '{PROGRAM}' --epochs 1 --plot none >/dev/full", shell=True,
                          stderr=subprocess.PIPE, text=True)
    assert full.returncode == 1 and "standard output: " + os.strerror(errno.ENOSPC) in full.stderr, full
    for arguments, message in ((["--lr", "fast"], "--lr fast: a number"),
                               (["--hidden", "5,x"], "--hidden x: a whole number"),
                               (["--activation", "step"], "no such activation"),
                               (["table.csv"], "Tables are given as --data"),
                               (["--data", "good.csv"], "needs --target"),
                               (["--predict", "good.csv"], "needs --load"),
                               (["--predict", "good.csv", "--load", "m", "--missing", "drop"],
                                "--missing drop: every row of good.csv must get a prediction"),
                               (["--patience", "3", "--validation", "0"], "needs validation rows")):
        misused(message, *arguments)
    assert "--weight-decay" in run("--help")


def benchmarks():
    for name, bound in (("concrete", 6.0), ("yacht", 1.5)):
        folder = os.path.join(UCI, name)
        r = result(run("--data", folder + "/data.csv", "--target", "y", "--test-rows",
                       folder + "/test_rows.txt", "--plot", "none"))
        print(f"  {name}: {r}")
        assert r["test_rmse"] < bound < r["trivial_rmse"], (name, r)


def write_rows():
    for name, text in (("far.txt", "3 50\n"), ("odd.txt", "x\n")):
        with open(name, "w", encoding="utf-8") as stream:
            stream.write(text)


def main():
    checks = [embedded, plots, texts_are_data, real_table, large_numbers, choices, interrupt,
              whole_options, write_rows, bad_input]
    if UCI:
        checks.append(benchmarks)
    return perform(checks)


if __name__ == "__main__":
    sys.exit(main())
