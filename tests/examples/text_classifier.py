#!/usr/bin/env python3
"""What a user of text-classifier sees: training, files, predicting, taking over a language model's
encoder, Ctrl-C, bad input.

usage: text_classifier.py PROGRAM [CHAR_LM]
"""

import csv
import errno
import json
import os
import re
import signal
import struct
import sys

from program import LEARNING, interrupted, misused, optional_path, perform, refused, run, same_without_capture

CHAR_LM = optional_path(2)
RESULT = re.compile(r"result: accuracy=(\S+) bag_accuracy=\S+ best_possible=(\S+) seconds=(\S+)$")
SMALL = ["--width", "8", "--hidden", "12", "--layers", "1", "--epochs", "2", "--lr", "0.01"]


def result(output):
    match = RESULT.match(output.splitlines()[-1])
    assert match, output
    return float(match.group(1)), match.group(2), float(match.group(3))


def read_table(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def write_table(path, rows, header=("text", "label")):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(rows)


def read_tensors(path):
    with open(path, "rb") as stream:
        size, = struct.unpack("<Q", stream.read(8))
        header = json.loads(stream.read(size))
        data = stream.read()
    metadata = header.pop("__metadata__", {})
    return {name: data[slice(*entry["data_offsets"])] for name, entry in header.items()}, metadata


def matrix(output):
    """The confusion matrix, a list of counts for each label."""
    lines = output.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("confusion matrix")) + 1
    labels = lines[first].split()
    rows = [line.split() for line in lines[first + 1:first + 1 + len(labels)]]
    assert [row[0] for row in rows] == labels, output
    return labels, [[int(n) for n in row[1:]] for row in rows]


def grammar():
    examples, epochs, enough = (3000, 7, 0.7) if LEARNING else (300, 2, 0)
    size = ["--examples", examples, "--epochs", epochs, "--layers", 1]
    output = run(*size, "--write-data", "reviews.csv")
    accuracy, best, _ = result(output)
    assert best == "0.9000" and accuracy > enough, output
    labels, counts = matrix(output)
    assert labels == ["mixed", "negative", "positive"]
    assert sum(map(sum, counts)) == examples / 5
    assert abs(sum(counts[i][i] for i in range(3)) / (examples / 5) - accuracy) < 1e-3
    assert f"epoch {epochs}/{epochs}" in output and "\r" not in output
    history = read_table("history.csv")
    assert len(history) == epochs and float(history[-1]["loss"]) < float(history[0]["loss"])
    assert float(history[-1]["validation_accuracy"]) > enough
    tensors, metadata = read_tensors("classifier.safetensors")
    assert "0.module.encoder.weight" in tensors and "1.layers.0.running_mean" in tensors
    assert metadata["label.1"] == "negative" and metadata["option.arch"] == "awd-lstm"
    rows = read_table("reviews.csv")
    assert len(rows) == examples and {row["label"] for row in rows} == set(labels)
    again = run(*size, "--threads", 1)
    assert result(again)[0] == accuracy, "threads change the result"

    output = run("--predict", "reviews.csv", "--load", "classifier.safetensors")
    assert f"{examples} predictions: predictions.csv" in output
    predicted = read_table("predictions.csv")
    hits = sum(a["label"] == b["label"] for a, b in zip(rows, predicted))
    assert hits / examples > enough, hits
    assert all(1 / 3 <= float(row["probability"]) <= 1 for row in predicted)

    output = run("--data", "reviews.csv", "--load", "classifier.safetensors", "--epochs", 1, "--lr",
                 1e-5, "--save", "more.safetensors")
    assert result(output)[1] == "unknown"
    assert result(output)[0] > enough, output  # it did not start from nothing


def attention():
    """Order decides, and a transformer learns it: words alone would give 0.55."""
    output = run("--arch", "transformer", "--epochs", 12, "--threads", 1, "--seed", 2)
    assert result(output)[0] > 0.7, output


def easy_rows(count):
    """The label is a word of the text; text of every kind around it."""
    words = ["alpha, \"quoted\"", "beta\nsecond line", "Gamma", "delta ünïcödé", "ε"]
    return [(f"{words[i % 5]} says {'yes' if i % 3 else 'no'} {words[i % 4]} " * (1 + i % 4),
             "accept" if i % 3 else "reject, politely") for i in range(count)]


def choices():
    write_table("easy.csv", easy_rows(300))
    common = ["--data", "easy.csv", *SMALL[:6], "--epochs", "10" if LEARNING else "1", "--lr", "0.02", "--min-freq", "1"]
    for more in (["--arch", "qrnn"], ["--arch", "transformer", "--heads", "2"],
                 ["--arch", "transformer-xl", "--heads", "2", "--memory", "5", "--bptt", "7"],
                 ["--arch", "transformer", "--mask", "off"], ["--bidir"], ["--tokens", "characters"], ["--head", "0"], ["--head", "9,7"],
                 ["--label-smoothing", "0.1", "--clip", "0"], ["--validation", "0"],
                 ["--freeze", "2", "--lr-spread", "2"], ["--bptt", "5", "--max-len", "6"],
                 ["--batch-size", "5", "--seed", "3"]):
        accuracy, best, _ = result(run(*common, *more))
        assert best == "unknown" and accuracy > (0.6 if LEARNING else 0), (more, accuracy)
    accuracy = result(run(*common))[0]
    assert accuracy > (0.8 if LEARNING else 0), accuracy
    with open("easy.csv", encoding="utf-8", newline="") as stream:
        text = stream.read()
    with open("marked.csv", "w", encoding="utf-8", newline="") as stream:
        stream.write("\ufeff" + text.replace("text,label", "body,verdict,extra").replace(
            "accept\r\n", "accept,1\r\n").replace('politely"\r\n', 'politely",2\r\n'))
    marked = run(*common, "--data", "marked.csv", "--text", "body", "--label", "verdict")
    assert result(marked)[0] == accuracy, "the same rows in another table"
    spaces = [("a good thing", " yes"), ("a bad thing", "no "), ("a fine thing", "yes"), ("a poor thing", "no")]
    write_table("spaces.csv", spaces * 30)
    assert matrix(run(*SMALL, "--data", "spaces.csv", "--epochs", "1"))[0] == ["no", "yes"], "spaces around labels"
    many = [(f"number {i % 30} of them", f"n{i % 30}") for i in range(300)]
    write_table("many.csv", many)
    assert "what was confused most" in run("--data", "many.csv", *SMALL)


def transfer():
    with open("corpus.txt", "w", encoding="utf-8") as stream:
        stream.write("".join(row["text"] + "\n" for row in read_table("reviews.csv")))
    for arch, more in (("awd-lstm", []), ("qrnn", []), ("transformer", ["--heads", "2"]),
                       ("transformer-xl", ["--heads", "2"])):
        run("--data", "corpus.txt", "--tokens", "words", "--arch", arch, "--layers", "2", "--d-model",
            "8", "--hidden", "10", "--context", "16", "--steps", "20", "--save", "lm.safetensors",
            *more, program=CHAR_LM)
        output = run("--data", "reviews.csv", "--encoder", "lm.safetensors", "--epochs", "1",
                     "--freeze", "1")
        known = re.search(r"lm.safetensors: its encoder knows (\d+) of the (\d+) tokens", output)
        assert int(known.group(1)) > 0.9 * int(known.group(2)), output
        lm, _ = read_tensors("lm.safetensors")
        classifier, metadata = read_tensors("classifier.safetensors")
        assert metadata["option.arch"] == arch and metadata["option.hidden"] == "10"
        taken = 0
        for name, data in lm.items():
            inner = name.replace("model.network.0.", "0.module.")
            if name.startswith("model.network.0.") and "encoder" not in name:
                assert classifier[inner] == data, f"{arch}: {name} is not the language model's"
                taken += 1
        assert taken >= 4, list(lm)
        result(run("--data", "reviews.csv", "--encoder", "lm.safetensors", "--epochs", "2"))
    refused("lm.safetensors: a model of bytes leaves no number for padding", "--encoder",
            language_model("--tokens", "bytes", "--arch", "awd-lstm"))
    refused("lm.safetensors: its feed-forward networks are of the kind geglu", "--encoder",
            language_model("--arch", "transformer", "--ffn", "geglu"))
    refused("lm.safetensors: a gpt2 has no encoder", "--encoder", language_model("--arch", "gpt2"))
    refused("--load brings an encoder along", "--encoder", "x", "--load", "y")


def language_model(*arguments):
    run("--data", "corpus.txt", "--steps", "2", "--d-model", "8", "--layers", "1", "--context", "8",
        "--save", "lm.safetensors", *arguments, program=CHAR_LM)
    return "lm.safetensors"


def interrupt():
    for number, name in ((signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")):
        output = interrupted("--epochs", 100000, "--save", "cut.safetensors", number=number)
        assert f"stopped by {name} in epoch " in output
        result(output)
        assert "0.module.encoder.weight" in read_tensors("cut.safetensors")[0]
        os.remove("cut.safetensors")


def content(path):
    with open(path, "rb") as stream:
        return stream.read()


def saves_where_it_came_from():
    write_table("easy.csv", easy_rows(40))
    run("--data", "easy.csv", *SMALL)  # another model, under the default's name
    other = content("classifier.safetensors")
    run("--data", "easy.csv", *SMALL, "--save", "mine.safetensors", "--seed", 2)
    before = content("mine.safetensors")
    again = ["--data", "easy.csv", "--load", "mine.safetensors", "--epochs", 1]
    assert "model: mine.safetensors, " in run(*again)
    assert content("classifier.safetensors") == other and content("mine.safetensors") != before
    assert "model: elsewhere.safetensors, " in run(*again, "--save", "elsewhere.safetensors")


def keeps_what_it_reads():
    """No file that is read or written is another one that is written."""
    write_table("easy.csv", easy_rows(40))
    run("--data", "easy.csv", *SMALL, "--save", "m")
    os.link("easy.csv", "link.csv")
    before = content("easy.csv"), content("m")
    for same, arguments in (("--history easy.csv and --data easy.csv", ["--history", "easy.csv"]),
                            ("--save link.csv and --data easy.csv", ["--save", "link.csv"]),
                            ("--save new and --history ./new", ["--save", "new", "--history", "./new"]),
                            ("--history m and --load ./m", ["--load", "./m", "--save", "n", "--history", "m"]),
                            ("--save m and --history ./m", ["--load", "m", "--save", "m", "--history", "./m"]),
                            ("--save m and --encoder m", ["--encoder", "m", "--save", "m"])):
        misused(same + " are the same file", "--data", "easy.csv", *arguments)
    misused("--history new and --write-data new are the same file", "--history", "new", "--write-data", "new")
    misused("--output easy.csv and --predict easy.csv are the same file", "--load", "m", "--predict", "easy.csv",
            "--output", "easy.csv")
    misused("--output m and --load m are the same file", "--load", "m", "--predict", "easy.csv", "--output", "m")
    assert (content("easy.csv"), content("m")) == before and not os.path.exists("new")


def says_before_training():
    """What would keep the model from being saved or used is said before the first epoch."""
    rows = easy_rows(40)
    latin = "text,label\n" + "fine,a\nbad,\u00e4\n" * 20
    with open("latin.csv", "wb") as stream:
        stream.write(latin.encode("latin-1"))
    with open("wide.csv", "wb") as stream:
        stream.write(latin.encode("utf-16"))
    write_table("twice.csv", [(*row, "b") for row in rows], ("text", "label", "label"))
    write_table("texts.csv", [("b", *row) for row in rows], ("text", "text", "label"))
    long = " ".join(["word"] * 200)
    write_table("long.csv", [(long if i == 7 else text, label) for i, (text, label) in enumerate(rows)])
    for message, arguments in (
            ("latin.csv: line 3: no UTF-8 at byte 22 (0xe4): this is no text in UTF-8; 'iconv -f ISO-8859-1 -t "
             "UTF-8' converts one in that encoding", ["--data", "latin.csv"]),
            ("wide.csv: this is no text: it is UTF-16; save it as UTF-8", ["--data", "wide.csv"]),
            ("twice.csv: columns 2 and 3 are both named 'label'; rename one", ["--data", "twice.csv"]),
            ("texts.csv: columns 1 and 2 are both named 'text'; rename one", ["--data", "texts.csv"]),
            ("--max-len 4 and --bptt 50 leave nothing of a text of ", ["--data", "long.csv", "--max-len", 4,
                                                                       "--bptt", 50])):
        for seed in (1, 2, 3):  # whichever part the row falls into
            assert "epoch 1" not in refused(message, *arguments, *SMALL, "--seed", seed)
    misused("--text and --label are both 'text': nothing would be left to predict", "--data", "twice.csv",
            "--label", "text")
    write_table("shown.csv", [(text, label + "\x1b[31m\n.") for text, label in rows])
    output = run("--data", "shown.csv", *SMALL)
    assert "\x1b" not in output and "accept\\x1b[31m\\n." in output, output


def bad_tables():
    rows = easy_rows(40)
    write_table("good.csv", rows)
    write_table("one.csv", [(text, "same") for text, _ in rows])
    write_table("blank.csv", rows[:3] + [("  ", "accept")] + rows[3:])
    write_table("nameless.csv", rows[:3] + [("words", "")] + rows[3:])
    write_table("few.csv", rows[:2])
    write_table("none.csv", [])
    write_table("many-labels.csv", [(f"text {i}", i) for i in range(1200)])
    for name, data in (("ragged.csv", b"text,label\na,b\nc\n"), ("open.csv", b"text,label\n\"a,b\n"),
                       ("behind.csv", b"text,label\n\"a\"b,c\n"), ("zero.csv", b"text,label\na\0b,c\n"),
                       ("bytes.csv", b"text,label\nfine,a\nbad \xff byte,b\nfine,b\nfine,a\n"),
                       ("empty.csv", b"")):
        with open(name, "wb") as stream:
            stream.write(data)
    refused("there is no column 'body'; there are 'text', 'label'", "--data", "good.csv", "--text",
            "body")
    refused("one.csv: every label is 'same'; there is nothing to learn", "--data", "one.csv")
    refused("column 'text' is empty", "--data", "blank.csv")
    refused("column 'label' is empty", "--data", "nameless.csv")
    refused("1 and 2 are needed", "--data",
            "few.csv")
    refused("none.csv: there are no rows", "--data", "none.csv")
    refused("empty.csv: there is no column 'text'; there are none", "--data", "empty.csv")
    refused("there are 1200 different labels", "--data", "many-labels.csv")
    refused("ragged.csv: line 3 has 1 fields, the header has 2", "--data", "ragged.csv")
    refused("open.csv: line 2: a quote is not closed", "--data", "open.csv")
    refused("behind.csv: line 2: there is text behind a closing quote", "--data", "behind.csv")
    refused("zero.csv: this is no text: it contains zero bytes", "--data", "zero.csv")
    refused("bytes.csv: ", "--data", "bytes.csv")
    refused("UTF-8", "--data", "bytes.csv")
    refused("nowhere.csv: ", "--data", "nowhere.csv")


def bad_models():
    run("--data", "good.csv", *SMALL, "--save", "good.safetensors")
    write_table("other.csv", [("words", "a label of another kind"), ("more", "accept")] * 20)
    refused("the model knows no label 'a label of another kind'", "--data", "other.csv", "--load",
            "good.safetensors")
    refused("bytes.csv: line 3: ", "--predict", "bytes.csv", "--load", "good.safetensors")
    refused("there is no column 'body'", "--predict", "good.csv", "--load", "good.safetensors",
            "--text", "body")
    with open("good.safetensors", "rb") as stream:
        whole = stream.read()
    with open("cut.safetensors", "wb") as stream:
        stream.write(whole[:-5])
    refused("cut.safetensors: tensor", "--predict", "good.csv", "--load", "cut.safetensors")
    with open("other.safetensors", "wb") as stream:
        stream.write(whole.replace(b'"option.hidden":"12"', b'"option.hidden":"13"').replace(
            b'"option.width":"8"', b'"option.width":"6"'))
    refused("here)", "--predict", "good.csv", "--load", "other.safetensors")
    for name, old, new in (("option.layers", b'"option.layers":"1"', b'"option.layers":"0"'),
                           ("labels", b'"label.0":"accept"', b'"label.0":"zccept"')):
        with open("damaged.safetensors", "wb") as stream:
            assert old in whole
            stream.write(whole.replace(old, new))
        refused("damaged.safetensors: --layers 0: a whole number" if name != "labels" else
                "damaged.safetensors: its labels are damaged", "--predict", "good.csv", "--load",
                "damaged.safetensors")
    with open("empty.safetensors", "wb") as stream:
        stream.write(struct.pack("<Q", 2) + b"{}")
    refused("not saved by text-classifier, or by another version of it: its metadata has no "
            "'option.arch'", "--predict", "good.csv", "--load", "empty.safetensors")
    refused("empty.safetensors: this is no checkpoint of char-lm", "--data", "good.csv", "--encoder",
            "empty.safetensors")
    refused("nowhere/m: cannot be written into nowhere: " + os.strerror(errno.ENOENT), "--data", "good.csv", *SMALL,
            "--save", "nowhere/m")
    refused("the loss is", "--data", "good.csv", *SMALL[:6], "--lr", "1000000", "--clip", "0",
            "--epochs", "200", "--weight-decay", "1000000")


def bad_options():
    for arguments, message in ((["--lr", "fast"], "--lr fast: a number"),
                               (["--head", "5,x"], "--head x: a whole number"),
                               (["--head", "10,,5"], "--head: between, before or after the commas a width is missing"),
                               (["--head", "10,"], "--head: between, before or after the commas a width is missing"),
                               (["--arch", "rnn"], "--arch rnn: awd-lstm, qrnn, transformer or "
                                                   "transformer-xl is wanted"),
                               (["good.csv"], "Texts are given as --data"),
                               (["--label", "x"], "--label belongs to --data"),
                               (["--data", "good.csv", "--examples", "9"], "from 10 to"),
                               (["--data", "good.csv", "--examples", "99"], "leave out --data"),
                               (["--predict", "good.csv"], "needs --load"),
                               (["--load", "m", "--hidden", "3"], "leave out --hidden"),
                               (["--arch", "qrnn", "--bidir"], "--bidir is for"),
                               (["--arch", "qrnn", "--heads", "2"], "--heads belongs to --arch"),
                               (["--mask", "off"], "--mask belongs to --arch transformer"),
                               (["--ffn", "relu"], "--ffn belongs to --arch transformer"),
                               (["--arch", "transformer", "--memory", "5"],
                                "--memory belongs to --arch transformer-xl"),
                               (["--output", "x.csv"], "--output belongs to --predict"),
                               (["--bidir", "--width", "9"], "an even --width"),
                               (["--arch", "transformer", "--heads", "3"], "no multiple of --heads"),
                               (["--arc", "qrnn"], "--arc")):
        misused(message, *arguments)
    refused("--max-len 4 and --bptt 50 leave nothing of a text of", "--bptt", "50", "--max-len", "4")
    assert "--frobnicate" in run("--frobnicate", code=2)
    assert "--lr-spread" in run("--help")


def captured():
    """Captured steps have the bits of ordinary ones, for texts of many lengths and a last batch of two texts. There are
    more texts than are sorted at once (50 batches), so batches of one length differ from epoch to epoch."""
    common = [*SMALL, "--arch", "transformer", "--heads", 2, "--examples", 302, "--batch-size", 4, "--epochs", 6,
              "--save", "s.st", "--history", "s.csv"]
    same_without_capture(["s.st", "s.csv"], *common, "--dropout", 0.5, "--bptt", 9)
    same_without_capture(["s.st", "s.csv"], *common, "--freeze", 3, "--lr-spread", 2, "--label-smoothing", 0.1, "--clip", 0)
    said = "--freeze 3 and --epochs 3: the head alone is trained; more epochs train the encoder, too"
    small = [*SMALL, "--examples", 60, "--freeze", 3]
    assert said in run(*small, "--epochs", 3) and "the head alone is trained" not in run(*small, "--epochs", 4)
    misused("--no-capture belongs to --arch transformer", "--no-capture", "--arch", "qrnn")
    run(*small, "--arch", "transformer", "--heads", 2, "--save", "s.st")
    same_without_capture(["t.st"], "--load", "s.st", "--save", "t.st", "--examples", 60, "--epochs", 3)
    run(*small, "--save", "s.st")
    refused("s.st: its encoder is not that of --arch transformer", "--load", "s.st", "--no-capture", "--examples", 60)
    misused("--no-capture belongs to a training", "--load", "s", "--predict", "t.csv", "--no-capture")


def main():
    checks = [grammar, captured, *([attention] if LEARNING else []), choices, interrupt, saves_where_it_came_from, keeps_what_it_reads,
              says_before_training, bad_tables, bad_models, bad_options]
    if CHAR_LM:
        checks.insert(3, transfer)
    return perform(checks)


if __name__ == "__main__":
    sys.exit(main())
