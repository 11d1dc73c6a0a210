#!/usr/bin/env python3
"""What a user of glu-variants sees: the table, the picture, texts of one's own, jobs, bad input.

usage: glu_variants.py PROGRAM
"""

import json
import math
import os
import re
import signal
import struct
import sys

import program
from program import drawn, interrupted, perform, run

SMALL = ("--d-model", 16, "--layers", 1, "--heads", 2, "--length", 16, "--batch", 4)
NAMES = ["ReLU", "GELU", "GLU", "Bilinear", "ReGLU", "GEGLU", "SwiGLU"]
ROW = re.compile(r"^(\w+) +(\d+) +(\d+) +([\d.]+) +([\d.]+)(?: \+- ([\d.]+))? +([\d.]+) +(\d+)(  best)?$",
                 re.MULTILINE)
RESULT = re.compile(r"^result: best=(\w+) val_loss=([\d.]+) bpc=([\d.]+) bigram_loss=[\d.]+ parameters=(\d+) "
                    r"steps=(\d+) seconds=[\d.]+$")


def small(*arguments, **how):
    return run(*SMALL, "--plot", "none", *arguments, **how)


def refused(message, *arguments):
    program.refused(message, *SMALL, "--plot", "none", "--steps", 4, *arguments)


def misused(message, *arguments):
    program.misused(message, *SMALL, "--plot", "none", "--steps", 4, *arguments)


def rows(output):
    """The table, {variant: figures}, once the last line has been held against it."""
    table = {name: dict(zip(("d_ff", "parameters", "train", "val", "error", "bits", "speed"),
                            map(float, (v or "0" for v in values[:7]))))
             for name, *values in ROW.findall(output)}
    best, val, bits, parameters, _ = RESULT.match(output.splitlines()[-1]).groups()
    assert [row[0] for row in ROW.findall(output) if row[-1]] == [best], output
    assert table[best]["val"] == float(val) == min(t["val"] for t in table.values()), output
    assert abs(float(bits) - float(val) / math.log(2)) < 1e-3
    assert table[best]["parameters"] == int(parameters)
    return table


def write(name, content):
    with open(name, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return name


def seven():
    """All of them, as many parameters each, on the embedded text; they learn."""
    output = small("--steps", 120, "--evaluations", 4)
    table = rows(output)
    assert list(table) == NAMES, output
    assert {t["d_ff"] for t in table.values()} == {64, 43}
    sizes = [t["parameters"] for t in table.values()]
    assert max(sizes) < 1.03 * min(sizes), sizes
    assert len({t["val"] for t in table.values()}) == 7, output
    vocabulary = int(re.search(r"(\d+) different ones", output).group(1))
    for name, t in table.items():
        assert 2 < t["val"] < 0.9 * math.log(vocabulary), (name, t)
        lines = re.findall(rf"^{name} +step (\d+)/120  training loss ([\d.]+)  validation loss "
                           r"([\d.]+)$", output, re.MULTILINE)
        assert [line[0] for line in lines] == ["30", "60", "90", "120"], output
        assert float(lines[-1][2]) == t["val"] < float(lines[0][2]), output
        assert float(lines[-1][1]) == t["train"]


def same_bits():
    """What comes out depends on the seed alone, neither on the jobs nor on who else is trained."""
    def figures(*arguments):
        return {name: (t["train"], t["val"]) for name, t in
                rows(small("--steps", 12, *arguments)).items()}

    one = figures("--jobs", 1)
    assert figures("--no-capture") == one
    assert figures("--jobs", 3) == one
    assert figures("--variants", "SwiGLU,ReLU") == {name: one[name] for name in ("SwiGLU", "ReLU")}
    other = figures("--seed", 2)
    assert all(other[name] != one[name] for name in NAMES)
    both = rows(small("--steps", 12, "--runs", 2))
    for name in NAMES:
        a, b = one[name][1], other[name][1]
        assert abs(both[name]["val"] - (a + b) / 2) < 2e-4, name
        assert abs(both[name]["error"] - abs(a - b) / 2) < 2e-4, name


def shows_every_evaluation():
    """Five points do not fall on quarters of a training, and three are fewer."""
    for n in (5, 3, 1):
        output = small("--steps", 10, "--variants", "GLU,ReLU", "--evaluations", n)
        for name in ("GLU", "ReLU"):
            steps = re.findall(rf"^{name} +step (\d+)/10 ", output, re.MULTILINE)
            assert steps == [str(10 * i // n) for i in range(1, n + 1)], output


def counts_in_words():
    output = small("--steps", 1, "--variants", "ReLU", "--jobs", 1, "--heads", 1)
    assert "1 layer, 16 features, 1 head, " in output and ", 1 step, " in output, output
    assert "\n1 training, 1 job; " in output, output
    assert "\n2 trainings, 2 jobs; " in small("--steps", 1, "--variants", "ReLU,GLU", "--jobs", 2)


def interrupt():
    """What is finished is reported and drawn; a training that is not is left out."""
    many = [*SMALL, "--save", "many.st", "--jobs", 1, "--runs", 1000, "--steps", 30, "--evaluations", 2, "--variants", "GEGLU,ReLU,GLU", "--plot"]
    for number, name in ((signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")):
        output = interrupted(*many, "cut.svg", number=number, after=r"^GEGLU +seed 3 ")
        done, = re.findall(rf"^stopped by {name}; (\d+) of 3000 trainings are finished; --load \S+ goes on$", output, re.MULTILINE)
        finished = re.findall(r"^(\w+) +seed (\d+) +step 30/30 .* ([\d.]+)$", output, re.MULTILINE)
        assert len(finished) == int(done) >= 6, output
        table = rows(output)
        for variant, row in table.items():
            values = [float(val) for other, _, val in finished if other == variant]
            assert f"\n{variant}: {len(values)} of 1000 runs\n" in output, output
            assert abs(row["val"] - sum(values) / len(values)) < 2e-4, (variant, values)
        assert "picture: cut.svg" in output and "GEGLU" in drawn("cut.svg")
        os.remove("cut.svg")
    output = interrupted(*SMALL, "--steps", 1000000, "--evaluations", 10000, "--variants", "ReLU", after=r"^ReLU +step")
    assert "stopped by Ctrl-C; 0 of 1 trainings are finished; --load" in output
    assert "no training is finished, so there is nothing to report" in output


def curves(path):
    """What a file says of each training: all numbers but the seconds."""
    with open(path, "rb") as stream:
        size, = struct.unpack("<Q", stream.read(8))
        header, data = json.loads(stream.read(size)), stream.read()
    found = {}
    for name, tensor in header.items():
        if name.startswith("training."):
            begin, end = tensor["data_offsets"]
            numbers = list(struct.unpack(f"<{(end - begin) // 8}d", data[begin:end]))
            found[name] = numbers[:2] + numbers[3:]
    return found, sorted(name for name in header if name.startswith("state."))


def goes_on():
    """An experiment that was interrupted twice, and went on with other jobs, comes to the same bits."""
    common = ["--steps", 400, "--evaluations", 40, "--variants", "GEGLU,ReLU,GLU"]
    whole = rows(small(*common, "--save", "whole.st"))
    assert curves("whole.st")[1] == [], "finished trainings have no state"
    for number, jobs, line in (signal.SIGINT, 2, r"^ReLU +step 130"), (signal.SIGTERM, 3, r"^GLU +step 250"):
        before = ["--load", "part.st"] if number == signal.SIGTERM else [*SMALL, *common, "--save", "part.st"]
        output = interrupted(*before, "--jobs", jobs, "--plot", "none", number=number, after=line)
        assert re.search(r"^stopped by \S+; \d of 3 trainings are finished; --load part.st goes on$", output,
                         re.MULTILINE), output
        assert curves("part.st")[1] != [], output
    output = run("--load", "part.st", "--jobs", 1, "--plot", "none", "--no-capture")
    assert re.search(r"^part.st: its experiment goes on; \d of 3 trainings are finished$", output, re.MULTILINE), output
    assert curves("part.st") == curves("whole.st")
    assert [(n, t["train"], t["val"]) for n, t in rows(output).items()] == \
           [(n, t["train"], t["val"]) for n, t in whole.items()], output
    again = run("--load", "part.st", "--plot", "none")
    assert "3 of 3 trainings are finished" in again and " step " not in again, again
    assert not [name for name in os.listdir(".") if name.endswith(".tmp")]
    refused("--steps 4: the experiment in part.st has steps 400", "--load", "part.st")
    program.refused("--variants GLU: the experiment in part.st has variants GEGLU,ReLU,GLU", "--load", "part.st",
                    "--variants", "GLU")
    program.refused("part.st: other.txt is not the text that its experiment was begun with", "--load", "part.st",
                    "--text", write("other.txt", "another text, of which it knows nothing; " * 90))
    program.refused("other.txt", "--load", "other.txt")
    with open("part.st", "rb") as stream:
        whole_file = stream.read()
    at = whole_file.index(struct.pack("<d", 10.0), 8 + struct.unpack("<Q", whole_file[:8])[0])  # the first point's step
    write("wrong.st", whole_file[:at] + struct.pack("<d", 11.0) + whole_file[at + 8:])
    program.refused("wrong.st: its trainings are not what this program wrote", "--load", "wrong.st")


def own_text():
    """A text that is easy to foretell, with characters of two and three bytes."""
    write("rhyme.txt", "süß — süß; " * 300)
    output = small("--text", "rhyme.txt", "--steps", 150, "--variants", "GEGLU", "--dropout", 0)
    assert "rhyme.txt: 3300 characters, 6 different ones; the last 330 are for validation" in output
    assert rows(output)["GEGLU"]["val"] < 0.2, output


def plots():
    common = (*SMALL, "--steps", 4, "--variants", "ReLU,GLU")
    assert "picture: it's.svg" in run(*common, "--plot", "it's.svg", "--runs", 2)
    assert "picture: glu-variants.svg" in run(*common)
    texts = drawn("glu-variants.svg")
    assert "Bilinear" not in texts
    for word in ("ReLU, no gate", "ReLU", "GLU", "validation loss, nats per character", "after the last step"):
        assert word in texts, word
    write("text.svg", "a text of one's own; " * 90)
    program.misused("--plot text.svg and --text ./text.svg are the same file under two names", *common, "--plot",
                    "text.svg", "--text", "./text.svg")
    assert open("text.svg", encoding="utf-8").read().startswith("a text")
    program.refused("nowhere/p.svg: cannot be written into nowhere", *common, "--plot", "nowhere/p.svg")
    assert "picture" not in run(*common, "--plot", "none") and not os.path.exists("none")


def bad_texts():
    refused("empty.txt: is empty", "--text", write("empty.txt", ""))
    refused("short.txt: 58 of its 64 characters are for training, but a batch takes 65; give a "
            "longer text", "--text", write("short.txt", "0123456789abcdef" * 4))
    refused("one.txt: is one character over and over", "--text", write("one.txt", "a" * 900))
    refused("few.txt: 5 characters leave nothing for validation", "--text",
            write("few.txt", "abcde"), "--length", 1, "--batch", 1)
    for broken in (b"\xff", b"\xc3", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\x80"):
        refused("broken.txt: ", "--text", write("broken.txt", b"sound " * 100 + broken))
        assert "UTF-8" in small("--text", "broken.txt", code=1) and "600" in small(
            "--text", "broken.txt", code=1)
    refused("broken.txt: line 1: no UTF-8 at byte 600 (0x80): this is no text in UTF-8; 'iconv -f ISO-8859-1 -t "
            "UTF-8' converts one in that encoding", "--text", "broken.txt")
    refused("zero.txt: line 2: a zero byte at byte 6 (0x00)", "--text", write("zero.txt", b"sound\n\0" * 90))
    refused("nowhere.txt: cannot be opened", "--text", "nowhere.txt")
    refused(".: cannot be read", "--text", ".")


def bad_options():
    misused("--variants GLU,SwishGLU: 'SwishGLU' is no variant; there are ReLU", "--variants",
            "GLU,SwishGLU")
    misused("--variants GLU,: '' is no variant", "--variants", "GLU,")
    misused("GLU stands there twice", "--variants", "GLU,ReLU,GLU")
    misused("--heads 3: must divide --d-model 16", "--heads", 3)
    misused("--d-model 15: must be even", "--d-model", 15)
    misused("--steps 0: a whole number from 1", "--steps", "0")
    misused("--dropout 1: a number from 0", "--dropout", "1")
    misused("--lr nan", "--lr", "nan")
    misused("'text.txt' is no option", "text.txt")
    assert "--frobnicate" in run("--frobnicate", code=2)
    assert "--variants" in run("--help")


if __name__ == "__main__":
    sys.exit(perform([seven, same_bits, shows_every_evaluation, counts_in_words, interrupt, goes_on, own_text, plots,
                      bad_texts, bad_options]))
