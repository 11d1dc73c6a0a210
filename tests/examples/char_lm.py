#!/usr/bin/env python3
"""What a user of char-lm sees: training, going on exactly, writing, Ctrl-C, bad input.

usage: char_lm.py PROGRAM
"""

import errno
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time

from program import PROGRAM, WRAPPER, interrupted, misused, perform, refused, run, same_without_capture

RESULT = re.compile(r"result: val_loss=(\S+) bpc=(\S+) bigram_loss=(\S+) tokens_per_second=(\S+) seconds=(\S+)$")
SMALL = ["--layers", "2", "--d-model", "16", "--context", "16", "--batch-size", "4", "--threads", "1"]
ARCHITECTURES = ["gpt2", "transformer", "transformer-xl", "awd-lstm", "qrnn"]


def result(output):
    match = [RESULT.match(line) for line in output.splitlines() if line.startswith("result: ")]
    assert len(match) == 1 and match[0], output
    return dict(zip(["val_loss", "bpc", "bigram_loss", "tokens_per_second", "seconds"],
                    map(float, match[0].groups())))


def content(path):
    with open(path, "rb") as stream:
        return stream.read()


def write(path, data):
    with open(path, "wb") as stream:
        stream.write(data)


def learns():
    output = run(*SMALL, "--steps", 150, "--lr", 0.01, "--save", "m")
    r = result(output)
    assert 1 < r["val_loss"] < 3.2 and 2 < r["bigram_loss"] < 3, r
    assert f"a bigram model of the same text has a validation loss of {r['bigram_loss']:.4f}" in output
    assert abs(r["bpc"] - r["val_loss"] / 0.6931472) < 2e-3, r
    assert "step 150/150" in output and "tokens/s" in output and "\r" not in output
    assert result(run(*SMALL, "--steps", 150, "--lr", 0.01, "--threads", 2))["val_loss"] == \
        r["val_loss"], "threads change the result"


def exports_onnx():
    for arch in ARCHITECTURES:
        run(*SMALL, "--arch", arch, "--steps", 2, "--save", "o", "--export-onnx", "o.onnx")
        first = content("o.onnx")
        assert first.startswith(b"\x08\x08\x12\x04adze"), first[:20]
        assert run("--load", "o", "--export-onnx", "p.onnx").splitlines()[-1] == "ONNX: p.onnx"
        assert content("p.onnx") == first, arch
    output = run("--load", "o", "--sample", "The ", "--length", 3, "--export-onnx", "p.onnx")
    assert output.startswith("The ") and output.endswith("ONNX: p.onnx\n"), output
    refused("no/p.onnx: cannot be written", "--load", "o", "--export-onnx", "no/p.onnx")


def shows_a_sample():
    """A training ends with a text of its network, before the line for scripts."""
    lines = run(*SMALL, "--steps", 2).splitlines()
    at = lines.index("a sample (--sample TEXT continues a text):")
    assert RESULT.match(lines[-1]) and len("\n".join(lines[at + 1:-1])) >= 200, lines
    assert "a sample" not in run(*SMALL, "--steps", 2, "--sample", "It is", "--length", 5)


def shows_samples_while_it_trains():
    """The first one comes after a minute, or after --sample-after. They change no bit, whatever the network carries."""
    assert "0 shows none (60)" in " ".join(run("--help").split())
    for arch in "gpt2", "awd-lstm", "transformer-xl":
        common = [*SMALL, "--arch", arch, "--dropout", 0.1, "--steps", 40]
        output = run(*common, "--sample-after", 1e-6, "--save", "shown")
        steps = [int(step) for step in re.findall(r"^after step (\d+) it writes:$", output, re.MULTILINE)]
        assert len(steps) >= 2 and steps[0] == 1 and steps[-1] < 40, output
        first = output[output.index("it writes:\n") + len("it writes:\n"):output.index("\nstep 2/40 ")]
        assert 100 < len(first) <= 201, output
        assert "it writes" not in run(*common, "--sample-after", 0, "--save", "hidden")
        assert content("shown") == content("hidden"), arch
    misused("--sample-after belongs to trainings without --sample", *SMALL, "--sample", "It", "--sample-after", 9)


def stops_writing():
    """Ctrl-C ends a text, too."""
    run(*SMALL, "--steps", 2, "--save", "long")
    output = interrupted("--load", "long", "--sample", "It\n", "--length", 100000000, after="^It$")
    assert output.startswith("It\n") and output.endswith("\n"), output[:100]


def drops_a_byte_order_mark():
    """The mark is no character of the text."""
    text = "It is a truth universally acknowledged. " * 60
    for name, mark in (("plain", ""), ("marked", "\ufeff")):
        with open(name, "w", encoding="utf-8") as stream:
            stream.write(mark + text)
    said = [run(*SMALL, "--steps", 2, "--data", name).splitlines() for name in ("plain", "marked")]
    assert said[0][0].split(": ")[1] == said[1][0].split(": ")[1], said
    assert result("\n".join(said[0]))["val_loss"] == result("\n".join(said[1]))["val_loss"]


def goes_on_exactly():
    for arch in [*ARCHITECTURES, "gpt2 one-cycle"]:
        arch, *schedule = arch.split()
        common = [*SMALL, "--arch", arch, "--steps", 9, "--dropout", 0.2]
        if schedule:
            common += ["--schedule", *schedule]
        if arch in ("awd-lstm", "qrnn"):
            common += ["--alpha", 2, "--beta", 1]
        run(*common, "--save", "whole")
        run(*common, "--save", "part", "--stop-after", 4)
        assert content("part") != content("whole")
        output = run("--load", "part", "--save", "part", "--threads", 1)
        assert "step 5/9" in output
        assert content("part") == content("whole"), f"{arch}: not the same bits"


def captured():
    """Captured steps have the bits of ordinary ones, in trainings that go on, too: dropout, penalties, what networks
    carry from batch to batch, and streams that begin again."""
    with open("short", "w", encoding="utf-8") as stream:
        stream.write("It is a truth universally acknowledged, that a man in want of a wife is. " * 8)
    for arch in ARCHITECTURES:
        common = [*SMALL, "--arch", arch, "--data", "short", "--validation", 0.2, "--steps", 12, "--dropout", 0.2,
                  "--eval-every", 5, "--save-every", 4, "--sample-after", 0, "--save", "steps"]
        common += ["--alpha", 2, "--beta", 1, "--schedule", "one-cycle"] if arch in ("awd-lstm", "qrnn") else []
        same_without_capture(["steps"], *common)
        run(*common)
        whole = content("steps")
        for first, then in ([], ["--no-capture"]), (["--no-capture"], []):
            run(*common, *first, "--stop-after", 6)
            run(*common, *then, "--load", "steps")
            assert content("steps") == whole, arch
    said = "the training is divided into parts, so its steps are not captured"
    for more in ["--shard"], ["--micro-batches", 2]:
        assert said in run(*SMALL, "--steps", 1, *more)
        assert said not in run(*SMALL, "--steps", 1, "--no-capture", *more)
    assert said not in run(*SMALL, "--steps", 1, "--fast")


def micro_batches():
    """A batch that is cut into parts has a result of its own, which a continued run keeps."""
    common = [*SMALL, "--steps", 6, "--dropout", 0.1]
    run(*common, "--save", "one")
    output = run(*common, "--micro-batches", 4, "--save", "four")
    assert "\n1 rank; 4 micro-batches\n" in output and result(output)
    assert content("four") != content("one"), "each part draws its own dropout"
    run(*common, "--micro-batches", 4, "--save", "part", "--stop-after", 2)
    refused("--micro-batches 2: the model in part has micro-batches 4", "--load", "part", "--micro-batches", 2)
    run("--load", "part", "--shard", "--threads", 1)
    assert content("part") == content("four"), "not the same bits"
    run(*common, "--save", "part", "--stop-after", 2)
    refused("--seed 2: the model in part has seed 1", "--load", "part", "--seed", 2)
    run("--load", "part", "--sample", "It", "--length", 2, "--seed", 2)
    misused("--micro-batches 5: a batch of 4 rows cannot be cut into so many; give --micro-batches up to 4",
            *common, "--micro-batches", 5)
    refused("four: --micro-batches 4: a batch of 3 rows cannot be cut", "--load", "four", "--batch-size", 3)
    misused("--micro-batches 0: a whole number from 1 to 4096", *common, "--micro-batches", 0)


def writes():
    for arch in ARCHITECTURES:
        output = run(*SMALL, "--arch", arch, "--steps", 3, "--save", arch, "--sample", "It is",
                     "--length", 40)
        assert "\nIt is" in output and len(output.split("\nIt is")[1]) >= 40, output
        again = run("--load", arch, "--sample", "It is", "--length", 40)
        assert again == "It is" + output.split("\nIt is")[1], (again, output)
        likeliest = run("--load", arch, "--sample", "It", "--length", 9, "--temperature", 0)
        assert likeliest == run("--load", arch, "--sample", "It", "--length", 9, "--top-k", 1)
    for arch in ("gpt2", "transformer"):  # within the context a window makes no difference
        slide = ["--load", arch, "--sample", "It", "--temperature", 0, "--window", "slide"]
        assert run(*slide, "--length", 14) == run(*slide[:-2], "--length", 14)
        assert len(run(*slide, "--length", 50)) == 53
    assert len(run("--load", "gpt2", "--sample", "", "--length", 10)) == 11
    assert len(run("--load", "gpt2", "--sample", "It is a truth universally acknowledged",
                   "--length", 10)) == 49


def choices():
    for more in (["--ffn", "swiglu"], ["--arch", "transformer", "--ffn", "geglu"],
                 ["--arch", "transformer-xl", "--ffn", "bilinear", "--dropout", "0.1"],
                 ["--embed-dropout", "0.2"], ["--schedule", "one-cycle", "--warmup", 1], ["--ffn", "relu", "--dropout", "0.1"], ["--hidden", "20"],
                 ["--tokens", "bytes"], ["--tokens", "words", "--sample", "It is", "--length", 5],
                 ["--arch", "transformer", "--ffn", "swish", "--attention-dropout", "0.1"],
                 ["--arch", "transformer-xl", "--memory", 5],
                 ["--arch", "awd-lstm", "--weight-dropout", "0.3", "--save-every", 2]):
        result(run(*SMALL, "--steps", 4, "--eval-every", 2, "--save", "choice", *more))
        run("--load", "choice", "--sample", "a truth", "--length", 3)
    write("accents", "\u00e9t\u00e9 \u6f22\u5b57 ".encode() * 100)
    r = result(run(*SMALL, "--data", "accents", "--tokens", "bytes", "--steps", 2))
    assert abs(r["bpc"] - r["val_loss"] / 0.6931472 * 13 / 7) < 0.02, r
    output = run("--load", "choice", "--steps", 6, "--lr", 0.0001, "--save", "choice")
    assert "step 5/6" in output


def metadata(path):
    data = content(path)
    return json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])["__metadata__"]


def settings(path):
    """What the optimizer in a checkpoint stands at: its first group's."""
    return json.loads(metadata(path)["optimizer"])["param_groups"][0]


def one_cycle():
    """PyTorch's numbers at the first step, the highest and the last."""
    common = [*SMALL, "--schedule", "one-cycle", "--lr", 0.01, "--steps", 21, "--warmup", 7, "--save",
              "cycle"]
    for stop, lr, beta1 in ((1, 0.01 / 25, 0.95), (7, 0.01, 0.85), (21, 0.01 / 25 / 1e4, 0.95)):
        run(*common, "--stop-after", stop)
        group = settings("cycle")
        assert abs(group["lr"] - lr) < 1e-9 * lr and abs(group["beta1"] - beta1) < 1e-9, (stop, group)
    run(*common, "--min-lr", 0.001, "--beta1", 0.8, "--max-beta1", 0.9)
    assert abs(settings("cycle")["lr"] - 0.001) < 1e-12
    assert result(run(*SMALL, "--schedule", "one-cycle", "--steps", 150, "--lr", 0.01, "--save",
                      "m"))["val_loss"] < 3.2


def stays_over():
    """A checkpoint that has done what the command line asks for ends at once, as it is."""
    run(*SMALL, "--steps", 12, "--save", "done")
    before = content("done")
    for more, message in (([], "done: 12 steps are done, and --steps is 12; a larger --steps goes on"),
                          (["--steps", 4], "done: 12 steps are done, and --steps is 4; a larger --steps goes"),
                          (["--steps", 15, "--stop-after", 12], "--stop-after is 12; a larger --stop-after"),
                          (["--steps", 15, "--stop-after", 3], "--stop-after is 3; a larger --stop-after")):
        refused(message, "--load", "done", *more)
        assert content("done") == before
    crafted = before.replace(b'"step":"12"', b'"step":"-2"')
    assert crafted != before
    write("crafted", crafted)
    refused("crafted: ", "--load", "crafted", "--steps", 15)


def saves_where_it_came_from():
    run(*SMALL, "--steps", 2)  # another model, under the default's name
    other = content("char-lm.safetensors")
    run(*SMALL, "--steps", 4, "--stop-after", 2, "--save", "mine")
    before = content("mine")
    assert "checkpoint: mine\n" in run("--load", "mine")
    assert content("char-lm.safetensors") == other and content("mine") != before
    assert "checkpoint: elsewhere\n" in run("--load", "mine", "--steps", 5, "--save", "elsewhere")


def saves_by_the_way():
    """A run that is killed leaves what it had after a multiple of 500 steps."""
    assert "(500; 0: none)" in " ".join(run("--help").split())
    process = subprocess.Popen([*WRAPPER, PROGRAM, *SMALL, "--steps", "1000000000", "--save", "by-the-way"],
                               stdout=subprocess.DEVNULL)
    while not os.path.exists("by-the-way") and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    process.wait()
    step = int(metadata("by-the-way")["step"])
    assert step > 0 and step % 500 == 0, step
    assert f"step {step + 1}/{step + 1}" in run("--load", "by-the-way", "--steps", step + 1)


def names_of_data():
    """A checkpoint goes on whatever its text is called, or is not begun."""
    text = b"It is a truth universally acknowledged. " * 40
    for name in (b"caf\xe9 = \"text\"\\n", "\u00e9t\u00e9\ttext".encode(), b"-text"):
        write(name, text)
        run(*SMALL, "--steps", 2, "--data", os.fsdecode(name), "--save", "named", "--stop-after", 1)
        assert "step 2/2" in run("--load", "named")
    write(b"te\nxt", text)
    os.remove("named")
    misused("--data: there is a line break in the name, which a checkpoint cannot keep", *SMALL, "--steps", 2,
            "--data", "te\nxt", "--save", "named")
    assert not os.path.exists("named")


def validation_is_new():
    """A line that is no look at the validation text shows no value of it; each look has a line."""
    output = run(*SMALL, "--steps", 60, "--eval-every", 7, "--save", "m")
    steps = re.findall(r"^step (\d+)/60 .*  validation [\d.]+$", output, re.MULTILINE)
    assert steps == [str(i) for i in range(7, 60, 7)], output
    assert output.count("  validation ") == len(steps), output
    assert len(re.findall(r"^step ", output, re.MULTILINE)) == len({1, *range(3, 61, 3), *range(7, 60, 7)})


def interrupt():
    for number in (signal.SIGINT, signal.SIGTERM):
        output = interrupted(*SMALL, "--steps", 1000000, "--save", "cut", number=number)
        done = int(re.search(r"stopped after step (\d+); --load cut goes on", output).group(1))
        assert int(metadata("cut")["step"]) == done
        result(output)
        output = run("--load", "cut", "--steps", done + 1, "--save", "cut")
        assert f"step {done + 1}/{done + 1}" in output


def bad_input():
    write("empty", b"")
    write("short", b"To be, or not to be\n" * 3)
    write("broken", b"To be, or\xc3\x28 not to be\n" * 100)
    refused("empty: the text is empty", "--data", "empty")
    refused("short: the text has 54 tokens to train on; one batch of 12 rows of 64 needs 769",
            "--data", "short")
    refused("broken: line 1: no UTF-8 at byte 9 (0xc3)", "--data", "broken")
    refused("'iconv -f ISO-8859-1 -t UTF-8' converts one in that encoding; --tokens bytes learns any file",
            "--data", "broken", "--tokens", "words")
    write("wide", "To be\nor not\n".encode("utf-16") * 100)
    refused("wide: line 1: no UTF-8 at byte 0 (0xff): this is no text in UTF-8; 'iconv -f UTF-16 -t", "--data",
            "wide")
    write("zero", b"To be\nor\0not\n" * 100)
    refused("zero: line 2: a zero byte at byte 8 (0x00)", "--data", "zero")
    result(run(*SMALL, "--steps", 1, "--data", "wide", "--tokens", "bytes", "--save", "good"))
    refused("none: cannot be opened", "--data", "none")
    run(*SMALL, "--steps", 1, "--save", "good")
    before = content("good")
    refused("--arch awd-lstm: the model in good has arch gpt2", "--load", "good", "--arch",
            "awd-lstm")
    refused("--schedule one-cycle: the model in good has schedule cosine", "--load", "good", "--schedule",
            "one-cycle")
    refused("--d-model 32: the model in good has d-model 16", "--load", "good", "--d-model", 32)
    refused("the character '\u6f22' (U+6F22) at byte 3 is not in the vocabulary", "--load", "good",
            "--sample", "It \u6f22")
    refused("is not in the vocabulary", *SMALL, "--sample", "\u6f22")
    refused("good: 1 step is done, and --steps is 1; a larger --steps goes on", "--load", "good")
    refused("broken: ", "--load", "broken")
    write("other", struct.pack("<Q", 2) + b"{}")
    refused("other: this is no checkpoint of this program", "--load", "other", "--sample", "a")
    changed = before.replace(b'"model.network.transformer.wpe.weight"',
                             b'"model.network.transformer.wqe.weight"')
    assert changed != before
    write("changed", changed)
    refused("missing: network.transformer.wpe.weight", "--load", "changed", "--sample", "a")
    write("odd", before.replace(b"\nheads=4\n", b"\nheads=3\n"))
    refused("odd: --heads 3: they must divide --d-model 16", "--load", "odd", "--sample", "a")
    write("odd", before.replace(b"\nheads=4\n", b"\nheads=x\n"))
    refused("odd: --heads x: a whole number from 1", "--load", "odd", "--sample", "a")
    write("cut-off", before[:-9])
    refused("cut-off", "--load", "cut-off", "--sample", "a")
    refused("nowhere/m: cannot be written into nowhere: " + os.strerror(errno.ENOENT), *SMALL, "--steps", 1, "--save",
            "nowhere/m")
    write("text", b"It is a truth universally acknowledged. " * 90)
    misused("--save ./text and --data text are the same file under two names", *SMALL, "--data", "text", "--save",
            "./text")
    refused("the loss is", *SMALL, "--steps", 50, "--lr", 100000, "--clip", 1e30)
    for arguments, message in ((["--arch", "lstm"], "--arch lstm: gpt2, transformer, "),
                               (["--heads", "3"], "--heads 3: they must divide --d-model 128"),
                               (["--ffn", "relu", "--arch", "qrnn"], "has no feed-forward networks"),
                               (["--input-dropout", "0.1"], "has no such dropout"),
                               (["--max-beta1", "0.95"], "belongs to --schedule one-cycle"),
                               (["--schedule", "one-cycle", "--steps", 5, "--warmup", 6],
                                "--warmup 6: the cycle has no more than --steps 5"),
                               (["--alpha", "2"], "belong to awd-lstm and qrnn"),
                               (["--heads", 2, "--arch", "awd-lstm"], "--heads belongs to --arch"),
                               (["--memory", 5, "--arch", "transformer"],
                                "--memory belongs to --arch transformer-xl"),
                               (["--window", "half", "--arch", "qrnn", "--sample", "a"],
                                "--window belongs to --arch gpt2 and transformer"),
                               (["--max-vocab", 99], "--max-vocab belongs to --tokens words"),
                               (["--min-freq", 9], "--min-freq belongs to --tokens words"),
                               (["--load", "good", "--top-k", 3], "--top-k belongs to --sample"),
                               (["--length", 3], "--length belongs to --sample"),
                               (["--temperature", 1], "--temperature belongs to --sample"),
                               (["--steps", "0"], "--steps 0: a whole number"),
                               (["text.txt"], "A text is given as --data FILE")):
        misused(message, *arguments)
    assert content("good") == before
    assert "--frobnicate" in run("--frobnicate", code=2)
    assert "--top-k" in run("--help")


def main():
    checks = [learns, shows_a_sample, shows_samples_while_it_trains, stops_writing, drops_a_byte_order_mark, exports_onnx,
              goes_on_exactly, captured, micro_batches, stays_over, saves_where_it_came_from, saves_by_the_way, names_of_data,
              validation_is_new, writes, choices, one_cycle, interrupt, bad_input]
    return perform(checks)


if __name__ == "__main__":
    sys.exit(main())
