#!/usr/bin/env python3
"""What a user of forecast sees: the default series, columns of a CSV file, missing values, both bands, saved
networks, the picture, bad input.

usage: forecast.py PROGRAM
"""

import csv
import datetime
import json
import math
import os
import random
import re
import struct

from program import drawn, misused, perform, refused, run, same_without_capture

RESULT = re.compile(r"result: rmse=(\S+) mase=(\S+) naive_rmse=(\S+) seasonal_naive_rmse=(\S+) "
                    r"linear_rmse=(\S+) coverage80=(\S+) coverage95=(\S+) seconds=\S+$")
NAMES = ["rmse", "mase", "naive_rmse", "seasonal_naive_rmse", "linear_rmse", "coverage80", "coverage95"]
SHORT = ["--model", "mlp", "--members", 1, "--epochs", 2, "--plot", "none"]


def result(output):
    match = RESULT.match(output.splitlines()[-1])
    assert match, output
    return dict(zip(NAMES, map(float, match.groups())))


def read_bytes(path):
    with open(path, "rb") as stream:
        return stream.read()


def read_forecast(path="forecast.csv"):
    with open(path, newline="", encoding="utf-8") as stream:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(stream)]


def months(count, season=12, seed=1):
    draw = random.Random(seed)
    return [50 + 0.3 * i + 10 * math.sin(2 * math.pi * i / season) + draw.gauss(0, 1) for i in range(count)]


def write_series(path, values, column="y"):
    """A date column of text, the series, and a column that nobody asks for. None is an empty field."""
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["date", column, "note"])
        for i, value in enumerate(values):
            writer.writerow([f"month {i}", "" if value is None else f"{value:.6f}", "x"])
    return path


def default_series():
    """The linear model or the networks that beat it clearly on the validation part beat both naive forecasts."""
    output = run("--members", 2, "--epochs", 10, "--width", 8, "--plot", "none")
    r = result(output)
    assert r["rmse"] < r["seasonal_naive_rmse"] < r["naive_rmse"], r
    assert 0.5 < r["coverage80"] <= r["coverage95"] <= 1 and r["mase"] < 1, r
    errors = {name: float(error) for name, error in
              re.findall(r"^(linear|mlp|gru|conv|transformer) +\d+ +\S+ +(\S+) ", output, re.MULTILINE)}
    assert len(errors) == 5, output
    best = re.search(r"^best: (\w+)", output, re.MULTILINE)[1]
    assert best == "linear" and r["rmse"] == r["linear_rmse"] or errors[best] < 0.97 * errors["linear"], output
    assert "360 values; 288 to learn from, of which the last 144 validate; 72 to test\n" in output
    rows = read_forecast()
    assert [row["row"] for row in rows] == list(range(361, 373)), rows
    for row in rows:
        assert row["lower95"] < row["lower80"] < row["forecast"] < row["upper80"] < row["upper95"], row
        above, below = row["upper95"] - row["forecast"], row["forecast"] - row["lower95"]
        assert abs(above / below - 1) < 1e-9, row


def bits():
    """The seed decides every bit, and --jobs none. A saved model forecasts the same."""
    common = ["--model", "mlp", "--members", 2, "--epochs", 3, "--plot", "none"]
    for band in "variance", "mc":
        first = run(*common, "--band", band, "--jobs", 1, "--save", "a.safetensors", "--output", "a.csv")
        again = run(*common, "--band", band, "--jobs", 3, "--save", "b.safetensors", "--output", "b.csv")
        assert result(first) == result(again)
        assert read_bytes("a.csv") == read_bytes("b.csv")
        assert read_bytes("a.safetensors") == read_bytes("b.safetensors")
        loaded = run("--load", "a.safetensors", "--output", "c.csv", "--plot", "none")
        assert result(loaded) == result(first) and read_bytes("c.csv") == read_bytes("a.csv")
        assert "validation" not in loaded.split("\n", 1)[1], loaded
        run(*common, "--band", band, "--seed", 2, "--output", "d.csv")
        assert read_bytes("d.csv") != read_bytes("a.csv")
    run("--load", "a.safetensors", "--forecast", 5, "--output", "e.csv", "--plot", "none")
    assert read_forecast("e.csv") == read_forecast("a.csv")[:5]


def captured():
    """Every kind of network and of band, in several threads and rounds of epochs."""
    for kind, band in ("mlp", "variance"), ("gru", "mc"), ("conv", "variance"), ("transformer", "mc"):
        same_without_capture(["forecast.safetensors", "forecast.csv"], "--model", kind, "--band", band, "--members", 2,
                             "--epochs", 12, "--jobs", 2, "--plot", "none")


def curved(count):
    """Henon's map: two values say the next one exactly, but no linear model does."""
    values = [0.1, 0.2]
    while len(values) < count:
        values.append(1 - 1.4 * values[-1] ** 2 + 0.3 * values[-2])
    return values


CURVED = ["--data", "curved.csv", "--column", "y", "--season", 1, "--horizon", 1, "--window", 8, "--members", 1,
          "--width", 8, "--lr", 0.01, "--plot", "none"]


def kinds():
    """Each kind of network learns what the linear model leaves and can be loaded, with dropout on too."""
    write_series("curved.csv", curved(400))
    for model in "mlp", "gru", "conv", "transformer":
        common = [*CURVED, "--model", model, "--passes", 4, "--band", "mc"]
        short = result(run(*common, "--epochs", 1, "--output", "short.csv"))
        r = result(run(*common, "--epochs", 20))
        assert r["rmse"] < 0.95 * r["linear_rmse"] and r["rmse"] < short["rmse"], (model, r, short)
        assert read_bytes("short.csv") != read_bytes("forecast.csv"), model
        loaded = result(run("--load", "forecast.safetensors", "--data", "curved.csv", "--column", "y", "--output",
                            "again.csv", "--plot", "none"))
        assert loaded == r and read_bytes("again.csv") == read_bytes("forecast.csv"), model
    output = run(*CURVED, "--epochs", 20)
    assert re.search(r"^best: (mlp|gru|conv|transformer) with ", output, re.MULTILINE), output
    assert result(output)["rmse"] < 0.95 * result(output)["linear_rmse"], output


def half_widths(path="forecast.csv"):
    return [(row["upper80"] - row["forecast"], row["upper95"] - row["forecast"]) for row in read_forecast(path)]


def bands():
    """Each band is a quantile of errors and follows them. Errors are counted from the origins where they are known."""
    draw = random.Random(5)
    common = ["--column", "y", "--model", "linear", "--season", 1, "--horizon", 1, "--window", 24, "--plot", "none"]
    # One value in ten is far away: no normal distribution has 95% and 80% of its values so far apart.
    rare = [draw.gauss(0, 1) + (draw.choice([-30, 30]) if draw.random() < 0.1 else 0) for _ in range(800)]
    r = result(run("--data", write_series("rare.csv", rare), *common))
    (half80, half95), = half_widths()
    assert half95 > 10 * half80 and 0.9 <= r["coverage95"] <= 0.99 and 0.75 <= r["coverage80"] <= 0.9, (r, half80, half95)
    # The noise becomes four times as large where the test part begins. A band that stays covers 38%.
    louder = [draw.gauss(0, 4 if i >= 640 else 1) for i in range(800)]
    r = result(run("--data", write_series("louder.csv", louder), *common))
    (half80, half95), = half_widths()
    assert r["coverage95"] > 0.6 and half95 > 5, (r, half80, half95)
    # Unknown values say nothing, and the band of one step is measured although one season in two is missing.
    gaps = [None if i % 2 else value for i, value in enumerate(months(300, 4))]
    run("--data", write_series("gaps.csv", gaps), "--column", "y", "--season", 4, "--horizon", 4, "--model", "linear",
        "--plot", "none")
    widths = half_widths()
    assert all(0 < a[0] <= b[0] and a[1] <= b[1] for a, b in zip(widths, widths[1:])), widths
    # A saved linear model is fitted to the series that is given, whose errors make the band.
    run("--data", write_series("large.csv", [1000 * value for value in louder]), *common)
    (_, large95), = half_widths()
    run("--data", "louder.csv", *common, "--save", "louder.safetensors")
    run("--load", "louder.safetensors", "--data", "large.csv", "--column", "y", "--plot", "none")
    (_, loaded95), = half_widths()
    assert abs(loaded95 / large95 - 1) < 0.2, (loaded95, large95)


def figures():
    """The errors of the naive forecasts, computed here from the file."""
    values, season, horizon = months(203, 7), 7, 5
    write_series("weeks.csv", values)
    output = run("--data", "weeks.csv", "--column", "y", "--season", season, "--horizon", horizon, *SHORT)
    r, test = result(output), 203 * 4 // 5
    naive, seasonal = [], []
    for origin in range(test, 203 - horizon + 1, horizon):
        for k in range(horizon):
            naive.append(values[origin + k] - values[origin - 1])
            seasonal.append(values[origin + k] - values[origin + k - season])
    for name, errors in ("naive_rmse", naive), ("seasonal_naive_rmse", seasonal):
        expected = math.sqrt(sum(e * e for e in errors) / len(errors))
        assert abs(r[name] / expected - 1) < 1e-3, (name, r, expected)
    assert f"\n{len(naive)} values of the test part" in output, output
    assert [row["row"] for row in read_forecast()] == [204, 205, 206, 207, 208]
    long = run("--data", "weeks.csv", "--column", "y", "--season", 3, "--horizon", 8, "--window", 5, *SHORT)
    assert "\nwindow 5, horizon 8, season 3\n" in long, long


def cycle(count, seed=3):
    """A cycle of about eleven steps that noise drives: seasons do not repeat, but two lags say what comes."""
    draw, values = random.Random(seed), [0.0, 0.0]
    while len(values) < count:
        values.append(1.65 * values[-1] - 0.96 * values[-2] + draw.gauss(0, 1))
    return values


def two_lags(values, horizon):
    """The root mean square error of least squares on two lags, fitted again at each origin of the test part."""
    squares = []
    for origin in range(len(values) * 4 // 5, len(values) - horizon + 1, horizon):
        a = b = c = d = e = 0
        for t in range(2, origin):
            x, y = values[t - 1], values[t - 2]
            a, b, c, d, e = a + x * x, b + x * y, c + y * y, d + x * values[t], e + y * values[t]
        u, v = (d * c - e * b) / (a * c - b * b), (a * e - b * d) / (a * c - b * b)
        path = list(values[:origin])
        for k in range(horizon):
            path.append(u * path[-1] + v * path[-2])
            squares.append((path[-1] - values[origin + k]) ** 2)
    return math.sqrt(sum(squares) / len(squares))


def linear():
    """The linear model comes close to least squares that know how many lags the process has, in any unit."""
    common = ["--season", 11, "--horizon", 6, "--plot", "none"]
    values = cycle(300)
    for unit in 1, 1e-30, 1e30:
        with open("cycle.csv", "w", encoding="utf-8") as stream:
            stream.write("\n".join(["y", *(repr(unit * value) for value in values)]) + "\n")
        output = run("--data", "cycle.csv", "--column", "y", "--model", "linear", *common)
        r = result(output)
        assert r["rmse"] == r["linear_rmse"] <= 1.1 * unit * two_lags(values, 6), (unit, r, two_lags(values, 6))
        assert r["rmse"] < 0.8 * r["seasonal_naive_rmse"] and 0.85 <= r["coverage95"], r
    assert "\nfitted: linear\n" in output and "\nlinear: the mean of " in output, output
    loaded = run("--load", "forecast.safetensors", "--data", "cycle.csv", "--column", "y", "--output", "again.csv",
                 "--plot", "none")
    assert result(loaded) == r and read_bytes("again.csv") == read_bytes("forecast.csv")
    assert read_forecast()[0]["lower95"] < read_forecast()[0]["forecast"] < read_forecast()[0]["upper80"]
    first = read_bytes("forecast.csv")
    run("--data", "cycle.csv", "--column", "y", "--model", "linear", "--jobs", 1, *common)
    assert read_bytes("forecast.csv") == first
    run("--data", write_series("up.csv", [abs(value) + 1 for value in values]), "--column", "y", "--model", "linear",
        *common)
    below = run("--load", "forecast.safetensors", "--data", write_series("down.csv", [-1 - abs(v) for v in values]),
                "--column", "y", "--plot", "none")
    assert "not all values are positive; autoregressions of logarithms are left out" in below, below
    assert result(below)["rmse"] < result(below)["naive_rmse"], below
    misused("--model linear trains no networks; leave out --epochs", "--model", "linear", "--epochs", 3)


def exact():
    """A trend and a season that repeat exactly, and growth by a constant factor, leave no error worth naming."""
    for name, at in ("sum", lambda i: 0.5 * i + 9 * math.sin(math.pi * i / 6)), ("growth", lambda i: 1.02 ** i):
        path = write_series(f"{name}.csv", [100 + at(i) for i in range(240)])
        r = result(run("--data", path, "--column", "y", "--model", "linear", "--plot", "none"))
        assert r["rmse"] < 0.02 * r["seasonal_naive_rmse"], (name, r)


def missing_values():
    """A gap is filled by a straight line for the networks, and no error counts it."""
    values = months(200)
    full = [value if i not in (60, 61, 165, 170) else None for i, value in enumerate(values)]
    straight = list(values)
    for first, last in ((60, 61), (165, 165), (170, 170)):
        step = (values[last + 1] - values[first - 1]) / (last - first + 2)
        for i in range(first, last + 1):
            straight[i] = values[first - 1] + step * (i - first + 1)
    common = ["--column", "y", *SHORT]
    output = run("--data", write_series("gaps.csv", full), *common, "--output", "gaps-out.csv")
    assert "\n4 missing values: interpolated where the networks read them, and left out" in output, output
    assert "\n34 values of the test part" in output, output  # of 36
    # The same networks on the filled series: only what is measured differs.
    network = ["--load", "forecast.safetensors", "--column", "y", "--plot", "none", "--output"]
    filled = run("--data", write_series("filled.csv", straight), *network, "filled-out.csv")
    assert "missing" not in filled and "\n36 values of the test part" in filled, filled
    for a, b in zip(read_forecast("gaps-out.csv"), read_forecast("filled-out.csv")):
        # The linear model is fitted again, and there the filled values count.
        assert all(abs(a[name] - b[name]) < 0.3 for name in a), (a, b)
    assert result(output)["rmse"] != result(filled)["rmse"]
    run("--data", "filled.csv", *common, "--output", "trained.csv")  # rows 61 and 62 count in this training
    apart = [abs(a["forecast"] - b["forecast"]) for a, b in zip(read_forecast("gaps-out.csv"),
                                                                read_forecast("trained.csv"))]
    assert max(apart) > 1e-3, apart  # what the file rounds off makes 1e-6
    write_series("ends.csv", [None, *values, None])
    assert "\n2 missing values: " in run("--data", "ends.csv", *common)
    for name in "NA", "nan", "null":
        shown = ["" if i else name for i in range(1)]
        with open("words.csv", "w", encoding="utf-8") as stream:
            stream.write("\n".join(["y", *shown, *map(str, values)]) + "\n")
        assert "\n1 missing value: " in run("--data", "words.csv", *common), name


def plots():
    column = "it's $(touch run-by-shell) `touch run-by-shell` @x_{1}"
    write_series("odd.csv", months(160), column)
    common = ["--data", "odd.csv", "--column", column, *SHORT[:-2]]
    assert "\npicture: odd.svg\n" in run(*common, "--plot", "odd.svg")
    texts = drawn("odd.svg")
    for part in "training ends", "95% band", "80% band", "forecast", "beyond the end", f"odd.csv: {column}":
        assert part in texts, (part, texts)
    assert not os.path.exists("run-by-shell")
    assert "picture" not in run(*common, "--plot", "none") and not os.path.exists("none")


def refused_with(message, path, values, *more):
    refused(message, "--data", write_series(path, values), "--column", "y", *SHORT, *more)


def bad_series():
    values, before = months(200), None
    os.mkdir("bad")
    os.chdir("bad")
    refused_with("few.csv: y: 60 values are too few for --window 24, --horizon 12 and --season 12, which need "
                 "138; give a longer series or smaller numbers", "few.csv", values[:60])
    refused_with("few.csv: y: 137 values are too few", "few.csv", values[:137])
    refused_with("flat.csv: column 'y' is constant: each of its 199 values is 7, so there is nothing to forecast; "
                 "name another one with --column", "flat.csv", [None, *[7] * 199])
    refused_with("empty.csv: column 'y' has no value in 200 rows", "empty.csv", [None] * 200)
    refused_with("none.csv: column 'y' has no value in 0 rows", "none.csv", [])
    refused_with("step.csv: y: each of the first 160 values is 7, and the networks learn from these", "step.csv",
                 [*[7] * 199, 8])
    refused_with("large.csv: column 'y' has the value -1e+200, but 1e+100 is the largest that can be forecast",
                 "large.csv", [*values, -1e200])
    refused_with("row 201 of column 'y' (from 1, without the header) is inf", "inf.csv", [*values, math.inf])
    refused_with("gap.csv: y: all values of the test part are missing, those of rows 161 to 196", "gap.csv",
                 [*values[:160], *[None] * 39, 1.0])
    refused_with("all values of the validation part are missing, those of rows 81 to 160", "gap.csv",
                 [*values[:80], *[None] * 80, *values[160:]])
    write_series("good.csv", values)
    refused("good.csv: line 2, column 1 (date): 'month 0' is not a number", "--data", "good.csv", "--column", "date")
    refused("(--column names the column to forecast)", "--data", "good.csv", "--column", "date")
    refused("good.csv: there is no column 'z'; there are 'date', 'y', 'note'", "--data", "good.csv", "--column", "z")
    with open("twice.csv", "w", encoding="utf-8") as stream:
        stream.write("\n".join(["y,y", *(f"{value},1" for value in values)]))
    refused("twice.csv: 2 columns are named 'y'", "--data", "twice.csv", "--column", "y")
    refused("the errors of 'mlp' are not finite; try a smaller --lr", "--lr", 1e6, *SHORT)
    with open("gap.csv", "w", encoding="utf-8") as stream:
        stream.write("y\n" + "".join("\n" if 40 <= i < 44 else f"{i % 12}\n" for i in range(100)))
    refused("gap.csv: line 42 is empty, and the table has one column; write NA", "--data", "gap.csv", "--column", "y")
    refused("gap.csv: line 42 is empty", "--data", "gap.csv", "--target", "y")
    refused("nowhere.csv: cannot be opened", "--data", "nowhere.csv", "--column", "y")
    with open("wide.csv", "wb") as stream:
        stream.write("y\n1\n".encode("utf-16"))
    refused("wide.csv: this is no text", "--data", "wide.csv", "--column", "y")
    before = sorted(os.listdir("."))
    assert not [name for name in before if name.startswith("forecast")], before
    os.chdir("..")


def bad_options():
    write_series("series.csv", months(200))
    before = {name: read_bytes(name) for name in os.listdir(".") if os.path.isfile(name)}
    data = ["--data", "series.csv", "--column", "y"]
    misused("--horizon 0: a whole number from 1 to 65536 is wanted", "--horizon", 0)
    misused("--season 0: a whole number from 1 to 65536 is wanted", "--season", 0)
    misused("--window 0: a whole number from 1", "--window", 0)
    misused("--model lstm: mlp, gru, conv, transformer, linear or auto is wanted", "--model", "lstm")
    misused("--data needs --column NAME", "--data", "series.csv")
    misused("--column belongs to --data FILE.csv", "--column", "y")
    misused("--width 6: a multiple of 4 is wanted", "--width", 6)
    misused("--band mc needs a --dropout above 0", "--band", "mc", "--dropout", 0)
    misused("--passes belongs to --band mc", "--passes", 9)
    misused("--forecast 13: the model looks 12 steps ahead; train it with --horizon 13", "--forecast", 13)
    misused("--plot p.gif: a file that ends in .svg is wanted", "--plot", "p.gif")
    misused("series.csv: what is it? A table is given as --data FILE.csv", "series.csv")
    misused("--output series.csv and --data series.csv are the same file", *data, "--output", "series.csv")
    refused("nowhere/a.csv: cannot be written into nowhere", "--output", "nowhere/a.csv")
    assert before == {name: read_bytes(name) for name in os.listdir(".") if os.path.isfile(name)}


def bad_models():
    common = ["--plot", "none", "--output", "out.csv"]
    run(*SHORT, "--save", "good.safetensors")
    bytes_of_model = read_bytes("good.safetensors")
    size, = struct.unpack("<Q", bytes_of_model[:8])

    def change(key, value):
        header = json.loads(bytes_of_model[8:8 + size])
        if value is None:
            del header["__metadata__"][key]
        else:
            header["__metadata__"][key] = value
        text = json.dumps(header).encode()
        with open("bad.safetensors", "wb") as stream:
            stream.write(struct.pack("<Q", len(text)) + text + bytes_of_model[8 + size:])
        return "bad.safetensors"

    refused("its metadata has no 'option.season'", "--load", change("option.season", None), *common)
    refused("bad.safetensors: --horizon 0: a whole number", "--load", change("option.horizon", "0"), *common)
    refused("its metadata has no 'outcomes'", "--load", change("outcomes", None), *common)
    refused("--outcomes 0: a whole number", "--load", change("outcomes", "0"), *common)
    refused("outcomes", "--load", change("outcomes", "7"), *common)
    refused("its tensors 'origins' and 'outcomes' are of no validation part", "--load", change("trained", "9"), *common)
    refused("its metadata names no kind of model", "--load", change("option.model", "auto"), *common)
    refused("noise", "--load", change("option.horizon", "13"), *common)
    refused("this is no safetensors file", "--load", write_series("series.csv", months(30)), *common)
    refused("30 values are too few for --window 24, --horizon 12 and --season 12, which need 56", "--data",
            "series.csv", "--column", "y", "--load", "good.safetensors", *common)
    misused("--load forecasts without training; leave out --epochs", "--load", "good.safetensors", "--epochs", 3)
    misused("--load brings the networks along; leave out --season", "--load", "good.safetensors", "--season", 3)
    assert not os.path.exists("out.csv")
    shorter = run("--load", "good.safetensors", *common, "--data", write_series("short.csv", months(200)), "--column",
                  "y")
    assert "good.safetensors was trained on 288 values, but the test part begins after 160" in shorter, shorter


def timed(name, times, values=None, title="when"):
    """A table with a column of times."""
    values = values or months(len(times))
    with open(name, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow([title, "y"])
        writer.writerows(zip(times, values))
    return name


def continued(times, steps=3, options=()):
    """What the table of forecasts says of the times that follow, and what the program prints."""
    output = run("--data", timed("timed.csv", times), "--column", "y", "--time", "when", "--model", "linear",
                 "--forecast", steps, *options)
    with open("forecast.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["row"]) for row in rows] == [len(times) + 1 + k for k in range(steps)]
    return [row["when"] for row in rows], output


NAMES_OF_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def times():
    """Dates of several forms and numbers go on beyond the end, in the table and on the axis of the picture."""
    n = 150  # from January 1994: the last month is June 2006
    month = [(1994 + i // 12, i % 12 + 1) for i in range(n)]
    first = datetime.date(1999, 12, 1)
    day = [first + datetime.timedelta(days=i) for i in range(n)]
    last = [(datetime.date(y + m // 12, m % 12 + 1, 1) - datetime.timedelta(days=1)).isoformat() for y, m in month]
    for made, expected in (
            ([f"{y}-{m:02d}" for y, m in month], ["2006-07-01", "2006-08-01", "2006-09-01"]),
            ([f"{y}/{m:02d}/15" for y, m in month], ["2006-07-15", "2006-08-15", "2006-09-15"]),
            ([f"{NAMES_OF_MONTHS[m - 1]}-1-{y}" for y, m in month], ["2006-07-01", "2006-08-01", "2006-09-01"]),
            ([f"{NAMES_OF_MONTHS[m - 1]} {y}" for y, m in month], ["2006-07-01", "2006-08-01", "2006-09-01"]),
            (last, ["2006-07-31", "2006-08-31", "2006-09-30"]),
            ([f"{1970 + i // 4}Q{i % 4 + 1}" for i in range(n)], ["2007-07-01", "2007-10-01", "2008-01-01"]),
            ([f"{1900 + i}-07-01" for i in range(n)], ["2050-07-01", "2051-07-01", "2052-07-01"]),
            ([d.strftime("%Y%m%d") for d in day], [(day[-1] + datetime.timedelta(days=k)).isoformat() for k in (1, 2, 3)]),
            ([f"{d}T00:30" for d in day], [f"{day[-1] + datetime.timedelta(days=k)}T00:30:00" for k in (1, 2, 3)]),
            ([f"2024-02-{28 + i // 24:02d} {i % 24:02d}:00:00" if i < 48 else f"2024-03-{i // 24 - 1:02d} {i % 24:02d}:00:00"
              for i in range(n)], [f"2024-03-05T{h:02d}:00:00" for h in (6, 7, 8)]),
            ([1900 + i / 4 for i in range(n)], ["1937.5", "1937.75", "1938"]),
            ([1000 * i for i in range(n)], ["150000", "151000", "152000"])):
        found, output = continued(made)
        assert found == expected, (made[:3], found)
        assert "evenly" not in output, output
        texts = drawn("forecast.svg")
        assert "when" in texts and "row" not in texts, texts
        years = {text for text in texts if text is not None and re.search(r"\b(19|20)\d\d$", text)}
        assert bool(years) == ("000" not in str(made[1])), (made[:2], texts)
    holes = [d for d in (first + datetime.timedelta(days=i) for i in range(250)) if d.weekday() < 5]
    found, output = continued([d.isoformat() for d in holes])
    assert "the times in column 'when' are not evenly spaced (row " in output and "the median distance" in output, output
    assert found[0] == (holes[-1] + datetime.timedelta(days=1)).isoformat(), found
    plain = run("--data", "timed.csv", "--column", "y", "--model", "linear", "--forecast", 3)
    with open("forecast.csv", encoding="utf-8") as stream:
        assert stream.readline() == "row,forecast,lower80,upper80,lower95,upper95\n"
    assert "row" in drawn("forecast.svg") and result(plain) == result(output)


def bad_times():
    good = [f"{1900 + i}-07-01" for i in range(60)]

    def refuse(message, *changes):
        made = good[:]
        for at, text in changes:
            made[at] = text
        refused(message, "--data", timed("bad.csv", made), "--column", "y", "--time", "when")

    for text in ("yesterday", "1907-02-30", "1907-13-01", "01/02/07", "07/31/1907", "1907-07-01 25:00", "1907-07-01 x",
                 "1907Q5", "Foo 1907", "1907-07-01T10:00:00.5", "7"):
        refuse(f"line 9: '{text}' in column 'when' is neither a date such as", (7, text))
    refuse("line 9: the time '1906-07-01' in column 'when' is not later than '1906-07-01' before it", (7, "1906-07-01"))
    refuse("line 9: column 'when' is empty", (7, " "))
    refused("there is no column 'then'", "--data", "bad.csv", "--column", "y", "--time", "then")
    misused("--time belongs to --data FILE.csv", "--time", "when")


def positive():
    """Bands that respect --positive: a series that falls to nearly nothing has lower ends above 0."""
    draw = random.Random(7)
    values = [40 * math.exp(-0.02 * i + draw.gauss(0, 0.5)) for i in range(240)]
    common = ["--data", write_series("falls.csv", values), "--column", "y", "--season", 1, "--horizon", 8]
    for model in (["--model", "linear"], ["--model", "mlp", "--members", 1, "--epochs", 3]):
        run(*common, *model)
        assert min(row["lower95"] for row in read_forecast()) < 0, "the test needs a series whose band reaches 0"
        output = run(*common, *model, "--positive", "--save", "p.safetensors")
        r, rows = result(output), read_forecast()
        for row in rows:
            assert 0 < row["lower95"] < row["lower80"] < row["forecast"] < row["upper80"] < row["upper95"], row
            above, below = row["upper95"] / row["forecast"], row["forecast"] / row["lower95"]
            assert abs(above / below - 1) < 1e-9 and above > 1.5, row
        assert r["coverage95"] > 0.85 and 0.6 < r["coverage80"] < 0.95, r
        test = 240 * 4 // 5  # errors are in the unit of the series
        errors = [values[at + k] - values[at - 1] for at in range(test, 240 - 7, 8) for k in range(8)]
        assert abs(r["naive_rmse"] / math.sqrt(sum(e * e for e in errors) / len(errors)) - 1) < 1e-3, r
        loaded = result(run("--load", "p.safetensors", *common[:4]))
        assert loaded == r and read_forecast() == rows, "the model knows that it forecasts logarithms"
    misused("--load brings the networks along; leave out --positive", "--load", "p.safetensors", "--positive")
    values[17] = 0
    refused("falls.csv: y: row 18 (from 1, without the header) is 0, but --positive says that all values are positive",
            "--data", write_series("falls.csv", values), "--column", "y", "--positive")
    old = read_bytes("p.safetensors").replace(b'"option.positive"', b'"option.positivX"')
    with open("old.safetensors", "wb") as stream:
        stream.write(old)
    run("--load", "old.safetensors", *common[:4])  # a file of an earlier version has no such option
    assert min(row["lower95"] for row in read_forecast()) < 0


def naive_wins():
    """A random walk is forecast best by its last value, and the program says so; a season by that of a season ago."""
    draw, walk = random.Random(11), [100.0]
    while len(walk) < 160:
        walk.append(walk[-1] + draw.gauss(0, 1))
    common = ["--column", "y", "--model", "mlp", "--members", 1, "--epochs", 1, "--season", 1, "--horizon", 8]
    output = run("--data", write_series("walk.csv", walk), *common)
    r = result(output)
    assert r["naive_rmse"] < r["rmse"], "the test needs such a walk"
    assert f"remark: the naive forecast, the last value, was better than the networks on the test part (RMSE " in output
    assert "remark:" not in run("--data", write_series("months.csv", months(200)), "--column", "y", "--model", "linear")


if __name__ == "__main__":
    raise SystemExit(perform([default_series, bits, captured, kinds, bands, figures, linear, exact, missing_values, plots, bad_series,
                              bad_options, bad_models, times, bad_times, positive, naive_wins]))
