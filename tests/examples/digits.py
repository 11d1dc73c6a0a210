#!/usr/bin/env python3
"""What a user of digits sees: drawn digits, tables, IDX files, predictions, pictures, bad input.

usage: digits.py PROGRAM zlib|no-zlib

With ADZE_DIGITS_DATA in the environment, a folder with digits.csv and test_rows.txt, it also trains on
them."""

import csv
import gzip
import os
import re
import struct
import sys

import program
from program import interrupted, misused, perform, refused, run

ZLIB = sys.argv[2] == "zlib"
DATA = os.path.abspath(os.environ["ADZE_DIGITS_DATA"]) if "ADZE_DIGITS_DATA" in os.environ else None
RESULT = re.compile(r"result: test_accuracy=(\d\.\d{4}) linear_accuracy=\d\.\d{4} "
                    r"test_loss=(\d+\.\d{4}) epochs=(\d+) seconds=(\d+\.\d\d)$")
QUIET = ["--plot", "none", "--show", "0"]
SMALL = ["--channels", "8,16", *QUIET]
SIDE, COUNT, TESTS = 16, 500, 100


def result(output):
    match = RESULT.match(output.splitlines()[-1])
    assert match, output
    return float(match.group(1)), float(match.group(2)), int(match.group(3))


def without_seconds(output):
    return re.sub(r"seconds=\S+|\d+ threads?", "", output)


def matrix(output):
    """The rows of the confusion matrix: counts, images, accuracy."""
    rows = re.findall(r"^ {4}(\d)((?: +\d+){10}) +(\d+) +(\d\.\d{4})$", output, re.MULTILINE)
    assert [row[0] for row in rows] == list("0123456789"), output
    return [(list(map(int, counts.split())), int(images), float(accuracy))
            for _, counts, images, accuracy in rows]


def content(path):
    with open(path, "rb") as stream:
        return stream.read()


def write(path, data):
    with open(path, "wb") as stream:
        stream.write(data if isinstance(data, bytes) else data.encode())
    return path


def read_rows(path):
    with open(path, encoding="utf-8", newline="") as stream:
        return [list(map(float, row)) for row in list(csv.reader(stream))[1:]]


def write_table(path, rows, names=None):
    names = names or [*(f"p{i}" for i in range(len(rows[0]) - 1)), "digit"]
    lines = [",".join(names), *(",".join(f"{value:g}" for value in row) for row in rows)]
    return write(path, "\n".join(lines) + "\n")


def idx_images(rows, side=SIDE):
    pixels = bytes(int(value) for row in rows for value in row[:side * side])
    return struct.pack(">4B3I", 0, 0, 8, 3, len(rows), side, side) + pixels


def idx_labels(rows):
    return struct.pack(">4BI", 0, 0, 8, 1, len(rows)) + bytes(int(row[-1]) for row in rows)


def said(output):
    """What was said about each image: [(digit, probability)]"""
    lines = re.findall(r"^image (\d+): (\d) \((\d\.\d{4})\)", output, re.MULTILINE)
    assert [int(line[0]) for line in lines] == list(range(len(lines))), output
    return [line[1:] for line in lines]


def drawn():
    """The digits that the program draws: it learns them, and seeds decide every bit."""
    output = run("--examples", COUNT, "--epochs", 8, *SMALL, "--lr", 0.01, "--write-data", "drawn.csv")
    accuracy, loss, epochs = result(output)
    assert accuracy > 0.7 and loss < 1.2 and epochs == 8, output
    counts = matrix(output)
    tests = sum(images for _, images, _ in counts)
    assert tests == COUNT // 5
    assert abs(sum(row[i] for i, (row, _, _) in enumerate(counts)) / tests - accuracy) < 1e-4, output
    for i, (row, images, share) in enumerate(counts):
        assert sum(row) == images and abs(row[i] / images - share) < 1e-4, output
    assert "epoch 8/8" in output and "\r" not in output
    rows = read_rows("drawn.csv")
    assert len(rows) == COUNT and {row[-1] for row in rows} == set(range(10))
    assert all(0 <= value <= 255 and value == int(value) for row in rows for value in row)


def same_bits():
    """Seeds decide every bit, and threads none."""
    common = ["--epochs", 1, *SMALL]
    output = run("--examples", COUNT, *common)
    weights = content("digits.safetensors")
    assert without_seconds(run("--examples", COUNT, *common, "--threads", 1)) == without_seconds(output)
    assert content("digits.safetensors") == weights, "threads change the weights"
    assert result(run("--data", "drawn.csv", *common)) == result(output), "the same digits in a table"
    run("--examples", 60, *common)
    few = content("digits.safetensors")
    for more in (["--seed", 2], ["--shift", 0], ["--rotate", 0], ["--zoom", 0], ["--noise", 0]):
        run("--examples", 60, *common, *more, "--save", "other.safetensors")
        assert content("other.safetensors") != few, f"{more} change nothing"


def captured():
    """Among the epochs are a last batch of fewer images and the validation."""
    program.same_without_capture(["digits.safetensors", "history.csv"], "--examples", 130, "--epochs", 4, "--batch-size", 16,
                                 "--threads", 1, *SMALL)


def validation_losses(output):
    """Those of the epochs, and that of the weights that are kept."""
    with open("history.csv", encoding="utf-8", newline="") as stream:
        losses = [float(row["validation_loss"]) for row in csv.DictReader(stream)]
    kept = float(re.search(r"^validation +\d+ +\S+ +(\S+) +\S+$", output, re.MULTILINE).group(1))
    return losses, kept


def all_epochs():
    """A training of all epochs keeps its last weights, whatever the few validation images say."""
    output = run("--data", "drawn.csv", "--epochs", 12, "--lr", 0.03, "--validation", 0.03, *SMALL)
    losses, kept = validation_losses(output)
    assert min(losses) < losses[-1] - 1e-3, ("this test needs another setting", losses)
    assert abs(kept - losses[-1]) < 1e-4 and "kept are the weights" not in output, (kept, losses)


def early_stopping():
    """The weights are those of the epoch with the smallest validation loss."""
    output = run("--data", "drawn.csv", "--epochs", 60, "--patience", 1, "--lr", 0.03, *SMALL)
    assert "the validation loss has not fallen for 1 epoch\n" in output, output
    losses, kept = validation_losses(output)
    epochs = result(output)[2]
    assert len(losses) == epochs < 60 and min(losses) == losses[-2], losses
    assert f"kept are the weights of epoch {epochs - 1}, " in output
    assert abs(kept - min(losses)) < 1e-4, (kept, losses)
    output = run("--data", "drawn.csv", "--epochs", 2, "--validation", 0, *SMALL)
    assert "validation" not in output.split("epoch 1/2")[1], output


def predictions():
    """A saved model says of the test rows what it said when it was trained."""
    rows = read_rows("drawn.csv")
    tests = [3 * i for i in range(TESTS)]
    write("tests.txt", " ".join(map(str, tests)) + "\n")
    output = run("--data", "drawn.csv", "--test-rows", "tests.txt", "--epochs", 4, *SMALL, "--lr", 0.01,
                 "--save", "m.safetensors")
    accuracy, loss, _ = result(output)
    assert f" {TESTS} to test\n" in output
    chosen = [rows[i] for i in tests]
    write_table("tests.csv", chosen)
    predicted = run("--predict", "tests.csv", "--load", "m.safetensors", "--output", "said.csv", "--show", 2)
    assert f"\n{TESTS} images, accuracy {accuracy:.4f}, loss {loss:.4f}\n" in predicted, predicted
    assert len(re.findall(r"^  \|.{32}\|$", predicted, re.MULTILINE)) == 2 * SIDE, "two images as text"
    answers = said(predicted)
    hits = sum(int(digit) == row[-1] for (digit, _), row in zip(answers, chosen))
    assert len(answers) == TESTS and abs(hits / TESTS - accuracy) < 1e-4
    assert predicted.count(", true is ") == TESTS - hits
    with open("said.csv", encoding="utf-8", newline="") as stream:
        written = list(csv.DictReader(stream))
    assert [row["digit"] for row in written] == [digit for digit, _ in answers]
    assert all(abs(float(row["probability"]) - float(p)) < 1e-4 for row, (_, p) in zip(written, answers))
    write_table("unknown.csv", [row[:-1] for row in chosen], [f"p{i}" for i in range(SIDE * SIDE)])
    unknown = run("--predict", "unknown.csv", "--load", "m.safetensors")
    assert said(unknown) == answers and "accuracy" not in unknown and "true" not in unknown
    packed = ["images.idx.gz"] if ZLIB else []
    write("images.idx", idx_images(chosen))
    write("images.idx.gz", gzip.compress(idx_images(chosen)))
    for name in ["images.idx", *packed]:
        assert said(run("--predict", name, "--load", "m.safetensors")) == answers, name
    again = run("--data", "drawn.csv", "--test-rows", "tests.txt", "--load", "m.safetensors", "--epochs", 1,
                "--lr", 1e-9, *QUIET, "--save", "again.safetensors")
    assert accuracy > 0.4 and result(again)[0] > accuracy - 0.05, "it started from the beginning"
    dim = write_table("dim.csv", [[value / 255 for value in row[:-1]] + [row[-1]] for row in chosen])
    assert "are they on another scale?" in run("--predict", dim, "--load", "m.safetensors")


def test_rows_choose_nothing():
    """Other images in the test rows change no weight: neither the pixels' range nor the best epoch."""
    rows = read_rows("drawn.csv")[:200]
    write("tests.txt", " ".join(map(str, range(50))) + "\n")
    weights = []
    for change in (1, 3):
        write_table("half.csv", [[value * change for value in row[:-1]] + [(row[-1] + change) % 10] if i < 50 else row
                                 for i, row in enumerate(rows)])
        run("--data", "half.csv", "--test-rows", "tests.txt", "--epochs", 3, *SMALL, "--save", "h.safetensors")
        weights.append(content("h.safetensors"))
    assert weights[0] == weights[1]


def idx_files():
    """Plain and packed files are one, and so is a file that was packed in two parts."""
    rows = read_rows("drawn.csv")
    train, test = rows[TESTS:], rows[:TESTS]
    files = {"images": idx_images(train), "labels": idx_labels(train), "test-images": idx_images(test),
             "test-labels": idx_labels(test)}
    names = {name: write(f"{name}.idx", data) for name, data in files.items()}
    common = ["--epochs", 1, *SMALL]
    arguments = [word for name, path in names.items() for word in (f"--{name}", path)]
    output = run(*arguments, *common)
    assert f" {TESTS} to test\n" in output and "images.idx: 16 x 16 pixels from 0 to 255; " in output, output
    for kind, code in ((0x09, "b"), (0x0b, "h"), (0x0c, "i")): # labels as tools write them that have no bytes
        wide = struct.pack(f">4BI{len(train)}{code}", 0, 0, kind, 1, len(train), *files["labels"][8:])
        other = ["--images", "images.idx", "--labels", write("wide-labels.idx", wide), "--test-images",
                 "test-images.idx", "--test-labels", "test-labels.idx"]
        assert result(run(*other, *common)) == result(output)
    if ZLIB:
        for name, data in files.items():
            write(f"{name}.gz", gzip.compress(data[:100]) + gzip.compress(data[100:]))
        packed = [word for name in names for word in (f"--{name}", f"{name}.gz")]
        assert result(run(*packed, *common)) == result(output)
    else:
        refused("images.gz: is packed by gzip, and this program was built without zlib; unpack it with gunzip",
                "--images", write("images.gz", gzip.compress(files["images"])), "--labels", "labels.idx")
    share = run("--images", "images.idx", "--labels", "labels.idx", "--test", 0.5, *common)
    assert f" {len(train) // 2} to test\n" in share, share


def bad_idx():
    rows = read_rows("drawn.csv")[:40]
    images, labels = idx_images(rows), idx_labels(rows)
    write("good.idx", images)
    write("good-labels.idx", labels)
    for name, data, message in (
            ("short.idx", images[:-7], f"short.idx: its header says 40 x 16 x 16 bytes, and {40 * 256 - 7} follow it "
                                       f"instead of {40 * 256}: the file is truncated; fetch it again"),
            ("long.idx", images + b"x", "the file is too long"),
            ("header.idx", images[:9], "header.idx: is truncated: its header has 9 of 16 bytes"),
            ("stub.idx", b"\0", "it has fewer than 4 bytes"),
            ("table.idx", content("drawn.csv"), "table.idx: this is no IDX file of images: it begins otherwise, and an "
                                                "IDX file begins with 00 00 08 03"),
            ("floats.idx", b"\0\0\x0d\3" + images[4:], "its elements are of the IDX type 0d"),
            ("swapped.idx", labels, "has 1 dimension, and images have 3; are the files of images and labels swapped?"),
            ("none.idx", images[:4] + bytes(4) + images[8:16], "none.idx: there are no images"),
            ("thin.idx", struct.pack(">4B3I", 0, 0, 8, 3, 1, 1, 28) + bytes(28), "images of 1 pixels on a side"),
            ("huge.idx", b"\0\0\x08\3" + b"\xff" * 12, "huge.idx: images of 4294967295 pixels on a side"),
            ("many.idx", b"\0\0\x08\3\xff\xff\xff\xff" + images[8:], "4294967295 x 16 x 16 bytes")):
        write(name, data)
        refused(message, "--images", name, "--labels", "good-labels.idx", *SMALL)
    write("few-labels.idx", idx_labels(rows[:-1]))
    refused("few-labels.idx has 39 labels, and good.idx has 40 images; they do not belong together", "--images",
            "good.idx", "--labels", "few-labels.idx")
    write("letters.idx", labels[:-1] + b"\x1a")
    refused("letters.idx: label 39 (from 0) is 26; digits are 0 to 9", "--images", "good.idx", "--labels",
            "letters.idx")
    write("ints.idx", struct.pack(">4BI40i", 0, 0, 0x0c, 1, 40, *[0] * 39, -1))
    refused("ints.idx: label 39 (from 0) is -1; digits are 0 to 9", "--images", "good.idx", "--labels", "ints.idx")
    write("few.idx", struct.pack(">4BI39i", 0, 0, 0x0c, 1, 40, *[0] * 39))
    refused("few.idx: its header says 40 x 4 bytes, and 156 follow it instead of 160", "--images", "good.idx",
            "--labels", "few.idx")
    write("doubles.idx", struct.pack(">4BI40d", 0, 0, 0x0e, 1, 40, *[0] * 40))
    refused("type 0e; labels are integers, type 08, 09, 0b or 0c", "--images", "good.idx", "--labels", "doubles.idx")
    write("wide.idx", struct.pack(">4B3I", 0, 0, 8, 3, 2, 16, 8) + bytes(256))
    write("two.idx", idx_labels(rows[:2]))
    refused("wide.idx: has images of 16 x 8 pixels, and good.idx has 16 x 16", "--images", "good.idx", "--labels",
            "good-labels.idx", "--test-images", "wide.idx", "--test-labels", "two.idx")
    if ZLIB:
        packed = gzip.compress(images)
        for name, data, message in (("cut.gz", packed[:-9], "cut.gz: is packed by gzip, but truncated"),
                                    ("bits.gz", packed[:40] + b"\xff" * 40 + packed[80:],
                                     "bits.gz: is packed by gzip, but damaged"),
                                    ("text.gz", gzip.compress(b"text"), "text.gz: this is no IDX file of images")):
            write(name, data)
            refused(message, "--images", name, "--labels", "good-labels.idx", *SMALL)


def square(count, side=4, most=255):
    return [[(7 * i + 3 * k) % (most + 1) for k in range(side * side)] + [i % 10] for i in range(count)]


def bad_tables():
    rows = square(30)
    good = write_table("good.csv", rows)
    lines = content(good).decode().splitlines()

    def refused_table(message, changed, *arguments):
        write("bad.csv", "\n".join(changed) + "\n")
        output = refused(message, "--data", "bad.csv", *SMALL, *arguments)
        assert "bad.csv" in output and "epoch 1" not in output, output

    def with_line(number, text):
        return [*lines[:number - 1], text, *lines[number:]]

    words = lines[4].split(",")
    refused_table("line 5, column 4 (p3): 'ink' is not a number", with_line(5, ",".join([*words[:3], "ink", *words[4:]])))
    refused_table("line 5: the pixel 'p3' is -1; a pixel is a number from 0",
                  with_line(5, ",".join([*words[:3], "-1", *words[4:]])))
    refused_table("the pixel 'p3' is inf", with_line(5, ",".join([*words[:3], "inf", *words[4:]])))
    for digit in ("10", "-1", "2.5"):
        refused_table(f"line 5: the column 'digit' is {digit}; a digit is a whole number from 0 to 9",
                      with_line(5, ",".join([*words[:-1], digit])))
    refused_table("line 7: the column 'digit' is 10", ["", *with_line(5, ",".join([*words[:-1], "10"]))[:3], "  ",
                                                       *with_line(5, ",".join([*words[:-1], "10"]))[3:]])
    refused_table("line 5 has", with_line(5, "1,2,3"))
    refused_table("line 1 begins with the number 7; it should name the columns", lines[2:], "--target", "2")
    refused_table("there is no column 'label'; --target names the column of the digits. The first line has 17 names, "
                  "from 'p0' to 'digit'", lines, "--target", "label")
    refused_table("columns 1 and 17 are both named 'digit'; rename one", ["digit" + lines[0][2:], *lines[1:]])
    refused_table("16 columns of pixels, and --size asks for images of 4 x 5 pixels, which are 20", lines, "--size", "4x5")
    refused_table("17 columns of pixels make no square image; take out columns that are no pixels, or say",
                  ["id," + lines[0], *("1," + line for line in lines[1:])])
    refused_table("there are no rows", lines[:1])
    refused_table("images of 1 x 1 pixels; a side has 4 to 512", ["a,digit", "1,2", "2,3"])
    refused_table("every training image is a 3: there is nothing to learn",
                  [lines[0], *(line.rsplit(",", 1)[0] + ",3" for line in lines[1:])])
    refused_table("every pixel of the training images is 0",
                  [lines[0], *("0," * 16 + str(i % 10) for i in range(30))])
    refused("nowhere.csv: ", "--data", "nowhere.csv")
    refused("packed.csv: this is no text: it is packed by gzip; unpack it first", "--data",
            write("packed.csv", gzip.compress(content(good))))
    oblong = write_table("oblong.csv", [row[:-1] + row[:8] + row[-1:] for row in rows])
    assert ": 4 x 6 pixels from 0 to" in run("--data", oblong, "--size", "4x6", "--epochs", 1, *SMALL)


def bad_rows():
    common = ["--data", "good.csv", *SMALL]
    for text, message in (("3 4 30\n", "rows.txt: line 1: there is no row 30: good.csv has 30 rows, numbered from 0"),
                          ("3\n-1\n", "rows.txt: line 2: there is no row -1"),
                          ("3\n4\n3\n", "rows.txt: line 3: row 3 is listed twice, first in line 1; list it once"),
                          ("3 4 x\n", "rows.txt: line 1: 'x' is no row number"),
                          (" ".join(map(str, range(29))), "1 images to train on and 29 to test on are too few"),
                          ("\n", "0 to test on are too few"),
                          ("", "so there is no split 0")):
        write("rows.txt", text)
        output = refused(message, *common, "--test-rows", "rows.txt")
        assert "epoch 1" not in output, output
    write("rows.txt", "1 2 3\n4 5 6 7\n")
    assert " 4 to test\n" in run(*common, "--epochs", 1, "--test-rows", "rows.txt", "--split", 1)
    refused("has 2 lines, so there is no split 2", *common, "--test-rows", "rows.txt", "--split", 2)


def bad_models():
    run("--data", "good.csv", "--epochs", 1, *SMALL, "--save", "good.safetensors")
    large = write_table("large.csv", square(5, 5))
    bright = write_table("bright.csv", [*square(3), [600] * 16 + [1], *square(3)])
    idx = write("large.idx", idx_images(square(5, 5), 5))
    for use in ("--predict", "--data"):
        refused("large.csv: has 25 columns of pixels, and good.safetensors asks for images of 4 x 4 pixels, which are "
                "16", use, large, "--load", "good.safetensors")
        refused("bright.csv: line 5: a pixel is 600, and good.safetensors was trained on pixels from 0 to 248; bring",
                use, bright, "--load", "good.safetensors")
    refused("large.idx: has images of 5 x 5 pixels, and good.safetensors reads images of 4 x 4; resize them, or train",
            "--predict", idx, "--load", "good.safetensors")
    refused("large.csv: has images of 5 x 5 pixels, and good.safetensors reads", "--data", large, "--size", "5x5",
            "--load", "good.safetensors")
    refused("drawn digits: has images of 16 x 16 pixels", "--load", "good.safetensors")
    whole = content("good.safetensors")
    for old, new, message in ((b'"image-width":"4"', b'"image-width":"3"', "--image-width 3: a whole number from 4"),
                              (b'"option.channels":"8,16"', b'"option.channels":"8,17"', "here)"),
                              (b'"pixel-range"', b'"pixel-xange"', "its metadata has no 'pixel-range'")):
        assert old in whole, whole[:600]
        refused(message, "--predict", "good.csv", "--load", write("bad.safetensors", whole.replace(old, new)))
    refused("not saved by digits, or by another version of it: its metadata has no 'option.channels'", "--predict",
            "good.csv", "--load", write("empty.safetensors", struct.pack("<Q", 2) + b"{}"))
    refused("cut.safetensors: ", "--predict", "good.csv", "--load", write("cut.safetensors", whole[:-5]))
    assert content("good.safetensors") == whole


def keeps_what_it_reads():
    before = content("good.csv")
    for option in ("--save", "--history", "--plot"):
        arguments = ["--data", "good.csv", "--epochs", 1, *QUIET[2:], option, "good.csv"]
        refused("good.csv" if option != "--plot" else "a file that ends in .svg", *arguments)
    refused("good.csv", "--predict", "good.csv", "--load", "good.safetensors", "--output", "good.csv")
    assert content("good.csv") == before
    refused("nowhere/m: cannot be written", "--data", "good.csv", "--save", "nowhere/m")
    files = set(os.listdir("."))
    refused("the loss is", "--data", "good.csv", *SMALL, "--lr", 1e6, "--weight-decay", 1e6, "--save", "new.safetensors",
            "--history", "new.csv")
    assert set(os.listdir(".")) == files, "a failed run left files"


def pictures():
    common = ["--examples", 160, "--test", 0.5, "--channels", "4", "--epochs", 1, "--show", 2]
    assert "picture of the worst mistakes: it's.svg\n" in run(*common, "--plot", "it's.svg")
    texts = program.drawn("it's.svg")
    assert sum(text.startswith("said ") for text in texts) == sum(text.startswith("true ") for text in texts) == 24
    output = run(*common, "--plot", "none")
    assert len(re.findall(r"^  \|.{32}\|$", output, re.MULTILINE)) == 2 * SIDE
    assert re.search(r"^2 of \d+ mistakes, the worst first$", output, re.MULTILINE)
    losses = [float(value) for value in re.findall(r"said \d \((\S+)\), true is", output)]
    assert len(losses) == 2 and not os.path.exists("none")


def interrupt():
    output = interrupted("--examples", 300, "--epochs", 100000, "--patience", 0, *SMALL, "--save", "stopped.safetensors")
    assert "stopped by Ctrl-C in epoch " in output and result(output)[2] < 100000, output
    assert os.path.getsize("stopped.safetensors") > 0


def bad_options():
    for arguments, message in ((["--lr", "fast"], "--lr fast: a number"),
                               (["--channels", "8,x"], "--channels x: a whole number"),
                               (["--channels", "8,,8"], "--channels : a whole number"),
                               (["--size", "28"], "--size 28: rows and columns are wanted, such as 28x28"),
                               (["good.csv"], "Images are given as --data FILE.csv or --images FILE"),
                               (["--images", "good.idx"], "--images needs --labels"),
                               (["--labels", "good.idx"], "--labels needs --images"),
                               (["--images", "a", "--labels", "b", "--test-images", "c"],
                                "--test-images needs --test-labels"),
                               (["--test-images", "a", "--test-labels", "b"], "--test-images belongs to --images"),
                               (["--data", "a", "--images", "b", "--labels", "c"], "two sources of images"),
                               (["--test-rows", "a"], "--test-rows belongs to --data"),
                               (["--data", "a", "--split", "1"], "--split belongs to --test-rows"),
                               (["--data", "a", "--test-rows", "b", "--test", "0.5"], "--test is for data without"),
                               (["--target", "a"], "--target belongs to --data"),
                               (["--size", "4x4"], "--size belongs to --data"),
                               (["--data", "a", "--examples", "20"], "--examples is for digits that the program draws"),
                               (["--data", "a", "--write-data", "b"], "--write-data is for digits"),
                               (["--predict", "a"], "--predict needs --load"),
                               (["--predict", "a", "--load", "b", "--data", "c"], "leave out --data"),
                               (["--predict", "a", "--load", "b", "--history", "c"], "--history belongs to a training"),
                               (["--load", "m", "--hidden", "3"], "leave out --hidden"),
                               (["--output", "a"], "--output belongs to --predict"),
                               (["--validation", "0", "--patience", "3"], "--patience needs validation images"),
                               (["--plot", "a.pdf"], "ends in .svg")):
        misused(message, *arguments)
    assert "--frobnicate" in run("--frobnicate", code=2)
    assert "--test-rows" in run("--help")


def real_digits():
    output = run("--data", os.path.join(DATA, "digits.csv"), "--test-rows", os.path.join(DATA, "test_rows.txt"),
                 *QUIET)
    assert result(output)[0] > 0.98, output


def main():
    checks = [drawn, same_bits, captured, all_epochs, early_stopping, predictions, test_rows_choose_nothing,
              idx_files, bad_idx, bad_tables, bad_rows, bad_models, keeps_what_it_reads, pictures, interrupt,
              bad_options]
    return perform(checks + [real_digits] * (DATA is not None))


if __name__ == "__main__":
    sys.exit(main())
