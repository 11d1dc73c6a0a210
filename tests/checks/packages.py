#!/usr/bin/env python3
"""docs/install.md's commands are those that the scripts print and the package's test runs.

    packages.py TOP
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'tools'))
from shelves import shelves  # noqa: E402

top = pathlib.Path(sys.argv[1])
install = (top / 'docs/install.md').read_text()
wrong = []


def demand(what, text, where):
    if text not in where:
        wrong.append(f'{what}: {text}')


# The table of packages, system by system, against tools/setup.sh.
setup = (top / 'tools/setup.sh').read_text()
printed = re.findall(r"say ' +(?:(\w+) +)?((?:dnf|pacman|apk|brew|export) [^']*)'", setup)
for _, command in printed:
    demand('tools/setup.sh prints what docs/install.md does not say', f'`{command}`', install)
debian = re.search(r'apt-get install ([^`]*)`', install)
for package in sorted(set(re.findall(r"printf '( [a-z][^'%]*)'", setup))):
    for name in package.split():
        if debian is None or name not in debian.group(1).split():
            wrong.append(f'tools/setup.sh installs what docs/install.md does not name: {name}')

# The ways into another project, against tests/package.
cmake = (top / 'tests/package/cmake/CMakeLists.txt').read_text()
subproject = (top / 'tests/package/subproject/meson.build').read_text()
components = re.search(r'COMPONENTS ([\w ]+)\)', cmake).group(1).split()
fallback = "adze = dependency('adze', fallback: 'adze')"
for text, tested, where in [
        ('find_package(adze ', 'find_package(adze ', cmake),
        ('PRIVATE adze::adze)', 'target_link_libraries(${name} PRIVATE ${libraries} m)', cmake),
        (fallback, fallback, subproject),
        *((f'COMPONENTS {name})', name, components) for name in shelves()),
        *((f"dependency('adze-{name}', fallback: 'adze')",) * 2 + (subproject,) for name in shelves())]:
    demand('docs/install.md lacks', text, install)
    demand('tests/package does not test', tested, where)

# The Debian packages, against the libraries and their version.
control = (top / 'debian/control').read_text()
version = re.search(r"version: '([^']+)'", (top / 'meson.build').read_text()).group(1)
soversion = '.'.join(version.split('-')[0].split('.')[:2 if version.startswith('0.') else 1])
for name in ['', *('-' + name for name in shelves())]:
    demand('debian/control lacks', f'Package: libadze{name}{soversion}\n', control)
    demand('libadze-dev does not depend on', f'libadze{name}{soversion} (= ${{binary:Version}})', control)
    node = f'ADZE{name.upper().replace("-", "_")}_{soversion}'
    for ending, text in {'install': f'usr/lib/*/libadze{name}.so.*\n', 'symbols': f' (symver){node} '}.items():
        path = top / f'debian/libadze{name}{soversion}.{ending}'
        demand(f'debian/{path.name} lacks', text, path.read_text() if path.exists() else '')
demand('debian/changelog does not begin with', f'adze ({version.replace("-", "~")}', (top / 'debian/changelog').read_text())

# The lines with pkg-config, against those that tests/package/pkg_config.sh runs.
script = (top / 'tests/package/pkg_config.sh').read_text()
lines = re.findall(r"^\w+='(\$CC program.c .*)'$", script, re.M)
for line in lines:
    demand('docs/install.md lacks', '\n' + line.replace('$CC', 'cc').replace('$libdir', '$HOME/adze/lib') + '\n',
           install)
if len(lines) != install.count('\ncc program.c '):
    wrong.append(f'tests/package/pkg_config.sh runs {len(lines)} lines of those in docs/install.md')

if len(printed) < 5:
    wrong.append(f'tools/setup.sh names {len(printed)} commands for systems without apt')
print('\n'.join(wrong) or f"docs/install.md agrees with tools/setup.sh in {len(printed)} commands")
sys.exit(bool(wrong))
