#!/usr/bin/env python3
"""What a user of uci-regression sees: the toy set and its picture, sets of one's own, jobs, bad input.

usage: uci_regression.py PROGRAM

With ADZE_UCI_DATA in the environment, a folder of UCI data sets, it also trains on one of them.
"""

import math
import os
import random
import re
import signal
import sys

from program import LEARNING, drawn, interrupted, misused, perform, refused, run, same_without_capture

UCI = os.path.abspath(os.environ["ADZE_UCI_DATA"]) if "ADZE_UCI_DATA" in os.environ else None
RESULT = re.compile(r"^result: set=(\S+)((?: \w+=\S+)+)$", re.MULTILINE)
HYPER = {"hidden": "20", "epochs": "20 x3", "dropout": "0.005 0.4", "tau": "0.01 5",
         "chosen_tau_per_split": "20 20 20", "chosen_dropout_per_split": "0.01 0.02 0.03"}


def results(output):
    """The result lines, which come last: {set: {figure: value}}"""
    found = RESULT.findall(output)
    assert found and output.splitlines()[-len(found)].startswith("result: "), output
    assert "nan" not in "".join(values for _, values in found), output
    return {name: {word.split("=")[0]: float(word.split("=")[1]) for word in values.split()}
            for name, values in found}


def without_times(output):
    """What must not depend on --jobs: all but the seconds and the line that counts the jobs."""
    lines = [line for line in output.splitlines() if " job" not in line]
    return re.sub(r"( +\d+\.\d|seconds=\S+)$", "", "\n".join(lines), flags=re.MULTILINE)


def rows_of_plane(count=60):
    """y = 3 a - b with noise of deviation 0.2, and a feature that never changes"""
    draw = random.Random(1)
    for _ in range(count):
        a, b = draw.uniform(-2, 2), draw.uniform(0, 100)
        yield f"{a:.6f},{b:.4f},7,{3 * a - b / 50 + draw.gauss(0, 0.2):.6f}"


SPLITS = ["0 1 2 3 4 5 6 7", "10 11 12 13 14 15 16 17", "40 41 42 43 44 45 46 47"]


def make_set(name, table=None, splits=None, **hyper):
    os.makedirs(name, exist_ok=True)
    hyper = {**HYPER, **hyper}
    files = {"data.csv": table or ["a,b,c,y", *rows_of_plane()],
             "test_rows.txt": SPLITS if splits is None else splits,
             "hyper.txt": [f"{key} {value}" for key, value in hyper.items() if value is not None]}
    for file, lines in files.items():
        with open(os.path.join(name, file), "w", encoding="utf-8") as stream:
            stream.write("\n".join(lines) + "\n")
    return name


def toy():
    if not LEARNING:
        results(run("--passes", 5, "--epochs", 5, "--plot", "none"))
        return
    output = run("--passes", 300, "--plot", "none")
    r = results(output)["toy"]
    assert r["rmse"] < 0.5 and r["ll"] > -0.5 and "rmse_se" not in r and "ll_se" not in r, r
    inside = float(re.search(r"([\d.]+)% of the test rows lie within two", output).group(1))
    assert 90 < inside < 100, inside
    assert without_times(run("--passes", 300, "--plot", "none")) == without_times(output)
    other = results(run("--passes", 300, "--plot", "none", "--seed", 2))["toy"]
    assert other["rmse"] != r["rmse"] and other["rmse"] < 0.6, other
    short = results(run("--passes", 300, "--plot", "none", "--epochs", 3))["toy"]
    assert short["rmse"] > 2 * r["rmse"], short


def captured():
    """The toy set, whose last batch is smaller, and splits in several threads."""
    same_without_capture(["uncertainty.svg"], "--passes", 20, "--epochs", 30)
    make_set("captured")
    outputs = [run("captured", "--passes", 20, "--epochs", 9, "--jobs", 2, *how) for how in ([], ["--no-capture"])]
    assert without_times(outputs[0]) == without_times(outputs[1]), outputs


def plots():
    common = ("--passes", 50, "--epochs", 2)
    assert "picture: it's.svg" in run(*common, "--plot", "it's.svg")
    assert "picture: uncertainty.svg" in run(*common)
    assert {"training rows", "predicted mean", "no rows here"} <= set(drawn("uncertainty.svg"))
    refused("nowhere/p.svg: cannot be written into nowhere", *common, "--plot", "nowhere/p.svg")
    assert "picture" not in run(*common, "--plot", "none") and not os.path.exists("none")


def own_sets():
    """Two folders of sets: names, order, what the recipe comes to, figures from the lines above."""
    make_set("sets/plane")
    make_set("sets/apart", epochs="400")
    if not LEARNING:
        results(run("sets", "--passes", 5, "--epochs", 2, "--jobs", 2))
        return
    output = run("sets", "--passes", 500, "--jobs", 1)
    r = results(output)
    assert list(r) == ["apart", "plane"], output  # by name
    assert "plane: 60 rows, 3 features, 3 splits; 20 hidden units, 60 epochs" in output
    assert r["apart"]["rmse"] < 0.6 < 1.0 < r["plane"]["rmse"], r
    assert r["plane"]["ridge_rmse"] < 0.5, "a plane is what ridge regression finds"
    lines = re.findall(r"^plane split (\d)/3: dropout (\S+), tau (\S+): RMSE (\S+), log likelihood "
                       r"(\S+), RMSE without dropout (\S+)$", output, re.MULTILINE)
    assert [line[:3] for line in lines] == [("1", "0.01", "20"), ("2", "0.02", "20"),
                                            ("3", "0.03", "20")]
    for column, name, error in ((3, "rmse", "rmse_se"), (4, "ll", "ll_se"),
                                (5, "rmse_no_dropout", None)):
        values = [float(line[column]) for line in lines]
        mean = sum(values) / 3
        assert abs(mean - r["plane"][name]) < 1e-3, (name, values)
        if error:
            deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / 2)
            assert abs(deviation / math.sqrt(3) - r["plane"][error]) < 1e-3, (error, values)

    for jobs in (2, 5):
        assert without_times(run("sets", "--passes", 500, "--jobs", jobs)) == without_times(output)
    both = run("sets/plane/", "sets/apart", "--passes", 500, "--splits", 1)
    assert list(results(both)) == ["plane", "apart"]
    assert "rmse_se" not in results(both)["plane"] and "rmse_se" not in results(both)["apart"]
    assert re.search(r"^plane split 1/1: .*RMSE " + lines[0][3], both, re.MULTILINE)
    longer = results(run("sets/plane", "--passes", 500, "--epochs", 400))["plane"]
    assert longer["rmse"] < r["plane"]["rmse"] / 2, longer
    assert results(run("sets/plane", "--passes", 500, "--seed", 2))["plane"]["rmse"] != r["plane"]["rmse"]


def one_split():
    """A single split has no standard error, so none is printed and nothing is concluded from it."""
    make_set("yacht")  # a name with published figures
    output = run("yacht", "--passes", 20, "--epochs", 2, "--splits", 1)
    assert re.search(r"^yacht +RMSE, MC dropout +\d+\.\d{3} +0\.67 \+- 0\.05\n"
                     r" +log likelihood +-\d+\.\d{3} +-1\.25 \+- 0\.02\n"
                     r" +RMSE, dropout off +\d+\.\d{3} +1\.23 \+- 0\.37\n"
                     r" +ridge RMSE +\d+\.\d{3}\n +seconds +\d+\.\d$", output, re.MULTILINE), output
    assert "worse than published" not in output and "figures (RMSE" not in output, output
    several = run("yacht", "--passes", 20, "--epochs", 2, "--splits", 2)
    assert "of 2 figures (RMSE and log likelihood) lie within" in several, several
    columns = {re.search(r"^yacht +RMSE, MC.*$", text, re.MULTILINE).group().index("0.67") for text in (output, several)}
    assert len(columns) == 1, (output, several)
    assert re.search(r"^yacht +RMSE, MC dropout +\d+\.\d{3} \+- \d\.\d{3} +0\.67 \+- 0\.05$", several, re.MULTILINE), several


def counts_in_words():
    table = ["a,y", *(f"{i},{i % 3}" for i in range(60))]
    make_set("single", table, ["0 1"], hidden="1", epochs="1", chosen_tau_per_split="1",
             chosen_dropout_per_split="0.1")
    output = run("single", "--passes", 1, "--jobs", 1)
    assert "single: 60 rows, 1 feature, 1 split; 1 hidden unit, 1 epoch\n" in output, output
    assert "\n1 forward pass with dropout on, 1 job; " in output, output
    assert "\n2 forward passes with dropout on, 2 jobs; " in run("single", "--passes", 2, "--jobs", 2)


def interrupt():
    """Splits that are finished are reported, and the toy set as it is learnt by then."""
    splits = [str(i) for i in range(50)]
    each = {"chosen_tau_per_split": "20 " * 50, "chosen_dropout_per_split": "0.1 " * 50}
    make_set("cut/quick", splits=splits, epochs="200", **each)
    make_set("cut/slow", splits=splits, epochs="100000 x1000", **each)
    common = ["cut", "--passes", 20, "--jobs", 1]
    for number, name in ((signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")):
        output = interrupted(*common, number=number, after="^quick split 3/50")
        done, = re.findall(rf"^quick: stopped by {name}; (\d+) of 50 splits are finished$", output, re.MULTILINE)
        lines = re.findall(r"^quick split \d+/50: .* RMSE (\S+), log", output, re.MULTILINE)
        assert len(lines) == int(done) >= 3, output
        mean = sum(map(float, lines)) / len(lines)
        assert abs(results(output)["quick"]["rmse"] - mean) < 1e-3, output
        assert f"\nstopped by {name}; 1 of 2 sets were not begun\n" in output, output
    output = interrupted(*common, "--splits", 4, after="^quick split 4/4")
    assert ("\nslow: stopped by Ctrl-C; 0 of 4 splits are finished\n" in output or
            "\nstopped by Ctrl-C; 1 of 2 sets were not begun\n" in output), output
    assert list(results(output)) == ["quick"]
    output = interrupted("cut/slow", "--passes", 20, "--jobs", 2, after="jobs; ")
    assert "no split is finished, so there is nothing to report" in output, output
    output = interrupted("--passes", 50, "--epochs", 100000000, "--plot", "cut.svg", number=signal.SIGTERM,
                         after="^toy set")
    assert re.search(r"^stopped by SIGTERM; \d+ of 100000000 epochs are done$", output, re.MULTILINE), output
    assert "toy" in results(output)
    assert "picture: cut.svg" in output


def grid():
    """Errors of about 0.4 have precision 6, and there is little noise: 0.005 and 5 must win."""
    make_set("grid", chosen_tau_per_split=None, chosen_dropout_per_split=None, epochs="400")
    refused("grid/hyper.txt: there is no line 'chosen_dropout_per_split'; --grid does without", "grid")
    output = run("grid", "--grid", "--passes", 200, "--jobs", 2)
    assert len(re.findall(r"dropout 0.005, tau 5: ", output)) == 3, output
    assert without_times(run("grid", "--grid", "--passes", 200, "--jobs", 1)) == without_times(output)


def bad_tables():
    rows = list(rows_of_plane())
    header = "a,b,c,y"

    def table(message, lines):
        refused(message, make_set("bad", lines))

    table("bad/data.csv: there is no column 'y', the target", ["a,b,c,z", *rows])
    table("bad/data.csv: there is no column but 'y'", ["y", *map(str, range(60))])
    table("bad/data.csv: line 12, column 4 (y): 'nan' is a missing value",
          [header, *rows[:10], "1,2,7,nan", *rows[10:]])
    table("bad/data.csv: row 10 (from 0, without the header) of column 'b' is inf",
          [header, *rows[:10], "1,inf,7,2", *rows[10:]])
    table("bad/data.csv: line 12, column 1 (a): 'x' is not a number",
          [header, *rows[:10], "x,2,7,1", *rows[10:]])
    table("bad/data.csv: line 12", [header, *rows[:10], "1,2,7", *rows[10:]])
    table("bad: the target 'y' is 5 in every training row of split 1: there is nothing to learn",
          [header, *(row.rsplit(",", 1)[0] + ",5" for row in rows)])
    table("bad: the target 'y' is 5 in every training row of split 2",
          [header, *(row if 10 <= i < 18 else row.rsplit(",", 1)[0] + ",5"
                     for i, row in enumerate(rows))])
    table("bad/data.csv: there are no rows", [header])
    table("bad/data.csv: several columns are named 'y'; rename or remove all but one",
          ["a,y,c,y", *rows])
    table("bad/data.csv: several columns are named 'b'", ["b,b,c,y", *rows])
    for file in ("data.csv", "test_rows.txt", "hyper.txt"):
        with open(os.path.join(make_set("bad"), file), "wb") as stream:
            stream.write("a,y\n1,2\n".encode("utf-16"))
        refused(f"bad/{file}: this is no text: it is UTF-16; save it as UTF-8", "bad")


def bad_splits():
    for message, lines in (
            ("line 2: there is no row 60; data.csv has rows 0 to 59", ["1 2", "3 60", "4"]),
            ("line 1: there is no row -1;", ["-1", "3", "4"]),
            ("line 1: there is no row 2.5;", ["2.5", "3", "4"]),
            ("line 3: 'x' is no number", ["1 2", "3", "4 x"]),
            ("line 1: '7,8' is no number", ["7,8", "3", "4"]),
            ("line 2: row 3 stands there twice", ["1 2", "3 4 3", "4"]),
            ("line 2: 0 of 60 rows to test on leave 60", ["1 2", "", "4"]),
            ("line 1: 60 of 60 rows to test on leave 0", [" ".join(map(str, range(60))), "1", "2"])):
        refused("bad/test_rows.txt: " + message, make_set("bad", splits=lines))
    with open(make_set("bad") + "/test_rows.txt", "w", encoding="utf-8"):
        pass
    refused("bad/test_rows.txt: there is no split", "bad")


def bad_hyper():
    for message, change in (
            ("there is no line 'hidden'", {"hidden": None}),
            ("there is no line 'epochs'", {"epochs": None}),
            ("line 1: hidden is 0, but must be a whole number above 0", {"hidden": "0"}),
            ("line 1: hidden is 2.5, but must be a whole number", {"hidden": "2.5"}),
            ("line 1: hidden has 2 values, but needs one", {"hidden": "5 6"}),
            ("line 2: epochs has 0 values, but needs one", {"epochs": "x3"}),
            ("line 2: the factor of epochs has 0 values", {"epochs": "3 x"}),
            ("line 2: 'many' is no number", {"epochs": "many"}),
            ("line 2: epochs is 1e+18, but must be", {"epochs": "1000000000 x1000000000"}),
            ("line 3: dropout is 1, but must be at least 0 and below 1", {"dropout": "0.1 1"}),
            ("line 4: tau is 0, but must be above 0", {"tau": "0 1"}),
            ("line 4: 'nan' is no number", {"tau": "nan"}),
            ("line 4: tau has no values", {"tau": ""}),
            ("line 7: 'depth' is not known; there are hidden, epochs", {"depth": "3"}),
            ("chosen_tau_per_split has 2 values for the 3 splits", {"chosen_tau_per_split": "1 2"}),
            ("there is no line 'chosen_tau_per_split'", {"chosen_tau_per_split": None})):
        refused("bad/hyper.txt: " + message, make_set("bad", **change))
    refused("bad/hyper.txt: there is no line 'tau', which --grid needs", make_set("bad", tau=None),
            "--grid")
    with open(make_set("bad") + "/hyper.txt", "a", encoding="utf-8") as stream:
        stream.write("tau 3\n")
    refused("bad/hyper.txt: line 7: tau stands there twice", "bad")


def bad_input():
    bad_tables()
    bad_splits()
    bad_hyper()
    for file, say in (("data.csv", "cannot be opened"), ("test_rows.txt", "cannot be opened"),
                      ("hyper.txt", "cannot be opened")):
        os.remove(make_set("bad") + "/" + file)
        refused(f"bad/{file}: {say}", "bad")
    refused("nowhere", "nowhere")
    refused("sets/plane/data.csv: ", "sets/plane/data.csv")
    os.mkdir("no-data")
    refused("no-data: there is no data.csv in it, nor in a folder of it", "no-data")
    misused("--grid chooses for the splits of a set: name its folder", "--grid")
    misused("--splits 0: a whole number from 1", "--splits", "0", "sets")
    misused("--epochs many: a whole number", "--epochs", "many")
    misused("--jobs 0: a whole number", "--jobs", "0")
    assert "--frobnicate" in run("--frobnicate", code=2)  # the rest is the C library's, in its language
    assert "--grid" in run("--help")


def benchmark():
    """The first splits of the smallest set: worse than published by little, if at all."""
    output = run(os.path.join(UCI, "yacht"), "--splits", 4, "--passes", 1000, "--jobs", 2)
    r = results(output)["yacht"]
    print(f"  yacht: {r}")
    assert r["rmse"] < 0.67 + 2 * 0.05 + 2 * r["rmse_se"], r
    assert r["ll"] > -1.25 - 2 * 0.02 - 2 * r["ll_se"], r
    assert "2 of 2 figures" in output


def main():
    checks = [toy, captured, plots, own_sets, one_split, counts_in_words, interrupt, grid, bad_input]
    if UCI:
        checks.append(benchmark)
    return perform(checks)


if __name__ == "__main__":
    sys.exit(main())
