#!/usr/bin/env python3
"""The charts of the example programs: well-formed SVG, texts without markup, gaps, marks that do not
collide, and refusals.

usage: charts.py DRAW_CHARTS
"""
import os
import re
import subprocess
import tempfile
import xml.etree.ElementTree as ET

from program import PROGRAM, WRAPPER

SVG = "{http://www.w3.org/2000/svg}"


def draw(*arguments, code=0):
    done = subprocess.run([*WRAPPER, PROGRAM, *arguments], text=True, encoding="utf-8", stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    assert done.returncode == code, done
    return done


def elements(path, name):
    return list(ET.parse(path).getroot().iter(SVG + name))


def texts(path):
    return [e.text for e in elements(path, "text")]


def every_kind():
    shown = texts("kinds.svg")
    for text in ("<b>\u00e4</b> &amp; \ufffd", "x & y", "<y>", "<band>", 'line & "quotes"', "it's a ]]> point",
                 "a < b & c > d"):
        assert text in shown, (text, shown)
    content = open("kinds.svg", encoding="utf-8").read()
    assert "nan" not in content and "inf" not in content
    # The values 5, 7 and 9 of each ten are missing: a line of 5 values, and 6 and 8 alone.
    line, = [e for e in elements("kinds.svg", "path") if e.get("stroke-dasharray") == "6 4" and "M" in e.get("d")
             and "L" in e.get("d")]
    pieces = line.get("d").split("M")[1:]
    assert [1 + piece.count("L") for piece in pieces] == 4 * [5, 1, 1], pieces
    alone = [e for e in elements("kinds.svg", "circle") if e.get("fill") == "#1f77b4"]
    assert len(alone) == 8, "a value between two gaps"
    group, = [e for e in elements("kinds.svg", "g") if e.get("stroke") == "black" and e.get("fill") == "none"
              and len(e) > 1]
    assert len(group) == 28, "points"
    # The other border lacks one value more: it splits the second piece of five into 2 and 2.
    bands = [e.get("points").split() for e in elements("kinds.svg", "polygon")]
    assert [len(points) // 2 for points in bands] == [5, 1, 1, 2, 2, 1, 1, 5, 1, 1, 5, 1, 1], bands


def right_of_axis(path):
    """The texts at the y axis, from the bottom, with their numbers."""
    return [float(e.text) for e in elements(path, "text") if e.get("text-anchor") == "end"]


def ranges():
    wanted = {0: [-1.0, 1.0], 2: [1e12, 1e12 + 3], 4: [1e-280, 2e-280], 6: [-1e10, 2e10], 9: [0.1, 0.3]}
    for i in range(11):
        path = f"range{i}.svg"
        marks = right_of_axis(path)
        assert 2 <= len(marks) <= 12 and marks == sorted(set(marks)), (path, marks)
        if i in wanted:
            low, high = wanted[i]
            assert abs(marks[0] - low) <= 1e-9 * abs(high) and abs(marks[-1] - high) <= 1e-9 * abs(high), (path, marks)
        steps = [b - a for a, b in zip(marks, marks[1:])]
        assert max(steps) - min(steps) < 1e-6 * max(steps) or i == 5, (path, marks)
    marks = right_of_axis("log.svg")
    ratios = [b / a for a, b in zip(marks, marks[1:])]
    assert max(ratios) / min(ratios) < 1 + 1e-9 and min(ratios) >= 10, marks
    assert {"1", "10", "100", "1000"} <= set(texts("log.svg"))
    assert len(right_of_axis("log-narrow.svg")) >= 3


def do_not_collide():
    """An estimate that is wider than most fonts: no two texts at one height overlap."""
    for path in os.listdir("."):
        rows = {}
        for e in elements(path, "text"):
            width = 6.3 * len(e.text)
            left = float(e.get("x")) - {"middle": width / 2, "end": width}.get(e.get("text-anchor"), 0)
            if e.get("transform") is None:
                rows.setdefault(e.get("y"), []).append((left, left + width, e.text))
        for row in rows.values():
            row.sort()
            assert row[0][0] >= 0 and row[-1][1] <= 640, (path, row)
            for one, other in zip(row, row[1:]):
                assert one[1] < other[0], (path, one, other)


def times():
    for path, first, second in (("time-minute.svg", "00:00:15", "28 Feb 2026"),
                                ("time-hour.svg", "00:30", "31 Dec 1969"), ("time-day.svg", "12:00", "29 Feb 2024"),
                                ("time-month.svg", "15 Feb", "2024"), ("time-year.svg", "Jan", "2000"),
                                ("time-years.svg", "1900", None), ("time-ages.svg", "50000", None)):
        shown = texts(path)
        assert first in shown and (second is None or second in shown), (path, shown)
        assert len(shown) == len(set(shown)) or second is not None, (path, shown)
    assert "01:00" not in texts("time-month.svg")


def refusals():
    done = draw("empty", code=1)
    message = "no value can be drawn: there is none, or none is a finite number\n"
    assert done.stderr == "".join(f"draw_charts: no {name}.svg: {message}"
                                  for name in ("empty", "nan", "negative")), done
    done = draw("nowhere", code=1)
    assert "draw_charts: no nowhere/p.svg: nowhere/p.svg: " in done.stderr, done
    for text, fault in (("a\x1bb", "it contains a control character"), ("a\udce4b", "it is not UTF-8")):
        done = draw(text, code=1)
        assert done.stderr.endswith(f"cannot stand in a picture: {fault}\n"), done
    long = "<" * 3000
    draw(long)
    shown, = [t for t in texts("refused.svg") if "<" in t]
    assert re.fullmatch("<{20,200}\u2026", shown), shown
    os.remove("refused.svg")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        refusals()
        assert not os.listdir("."), "a refused picture left a file"
        printed = draw().stdout.splitlines()
        assert printed == [f"{path}: {path}" for path in (line.split(":")[0] for line in printed)]
        assert sorted(line.split(":")[0] for line in printed) == sorted(os.listdir("."))
        for check in every_kind, ranges, times, do_not_collide:
            check()
        os.chdir("/")


main()
