#!/usr/bin/env python3
"""tools/abi.py notices what programs do not survive that were compiled before a change of the headers, and nothing else.

    test_abi.py CC
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / 'tools'))
import abi  # noqa: E402

CC = 'cc'
HEADER = '''
typedef enum adz_colour { ADZ_RED = 0, ADZ_GREEN } adz_colour;
#define ADZ_MOST 4
typedef struct adz_paint_options {
    size_t size;
    double gloss;
    bool wet;
} adz_paint_options;
typedef struct adz_report {
    int64_t strokes;
} adz_report;
typedef void (*adz_stroke)(adz_colour colour, void *user);
typedef struct adz_wall adz_wall;
ADZ_API adz_status adz_paint(adz_wall *wall, adz_colour colour, const adz_paint_options *options);
ADZ_API adz_status adz_paint_each(adz_wall *wall, adz_stroke stroke, void *user);
ADZ_API void adz_wall_report(const adz_wall *wall, adz_report *report);
'''


class Abi(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.top = pathlib.Path(holder.name)
        for folder in ('include/adze', 'src'):
            (self.top / folder).mkdir(parents=True)
        self.headers(HEADER)
        self.tree("'0.3.0-dev'", 'nothing')
        self.run_abi('--write')
        self.record = self.text()

    def headers(self, text, shelf=''):
        (self.top / 'include/adze/paint.h').write_text('typedef enum adz_status { ADZ_OK = 0 } adz_status;\n' + text)
        (self.top / 'include/adze/zoo.h').write_text(shelf)

    def tree(self, version, changes, released='0.2.0 - 2026-01-31'):
        (self.top / 'meson.build').write_text(f"project('adze', 'c',\n  version: {version})\n")
        (self.top / 'CHANGELOG.md').write_text(
            f'# Changes\n\n## Unreleased\n\n### Changed\n\n{changes}\n\n## {released}\n\n- `adz_paint_options` is new.\n')

    def commit(self):
        for arguments in (['init', '-q'], ['add', '-A'], ['-c', 'user.name=x', '-c', 'user.email=x@x', 'commit', '-qm', 'x']):
            subprocess.run(['git', '-C', self.top, *arguments], check=True,
                           env={k: v for k, v in os.environ.items() if not k.startswith('GIT_')})

    def text(self):
        return (self.top / 'src/abi.txt').read_text()

    def run_abi(self, *arguments):
        done = subprocess.run([sys.executable, TOP / 'tools/abi.py', '--cc', CC, '--top', self.top, *arguments],
                              text=True, stdout=subprocess.PIPE)
        return done.returncode, done.stdout

    def change(self, old, new, text=HEADER):
        self.assertIn(old, text)
        return text.replace(old, new)

    def breaks(self, text, *words, shelf=''):
        self.headers(text, shelf)
        status, said = self.run_abi()
        self.assertEqual(status, 1)
        self.assertIn('Programs that were compiled before would fail', said)
        for word in words:
            self.assertIn(word, said)

    def works(self, text):
        self.headers(text)
        status, said = self.run_abi()
        self.assertEqual((status, said.strip()), (
            1, 'Old programs go on working. src/abi.txt lacks what is new: python3 tools/abi.py --write'))
        self.assertEqual(self.run_abi('--write')[0], 0)
        self.assertEqual(self.run_abi()[0], 0)

    def test_the_record_is_that_of_the_headers(self):
        self.assertEqual(self.run_abi(), (0, 'src/abi.txt is the interface of the headers\n'))

    def test_a_removed_function(self):
        self.breaks(self.change('ADZ_API void adz_wall_report', 'ADZ_API void adz_wall_tell'), 'adz_wall_report')

    def test_a_changed_parameter(self):
        self.breaks(self.change('(adz_wall *wall, adz_colour colour, const', '(adz_wall *wall, const'), 'adz_paint(')

    def test_a_changed_function_of_libadze_mpi(self):
        mpi = self.top / 'include/adze/mpi.h'
        mpi.write_text('#include <mpi.h>\nADZ_API adz_wall *adz_mpi_wall(MPI_Comm comm, bool wet);\n')
        self.works(HEADER)
        self.assertIn('\n/* libadze-mpi */\nadz_wall *adz_mpi_wall(MPI_Comm comm, bool wet);', self.text())
        mpi.write_text('#include <mpi.h>\nADZ_API adz_wall *adz_mpi_wall(MPI_Comm comm);\n')
        self.breaks(HEADER, 'adz_mpi_wall')

    def test_a_changed_result(self):
        self.breaks(self.change('ADZ_API adz_status adz_paint(', 'ADZ_API int64_t adz_paint('), 'return type changed')

    def test_a_changed_member(self):
        self.breaks(self.change('double gloss', 'float gloss'), 'adz_paint_options', 'gloss')

    def test_members_that_change_places(self):
        self.breaks(self.change('double gloss;\n    bool wet;', 'bool wet;\n    double gloss;'), 'adz_paint_options')

    def test_a_removed_member(self):
        self.breaks(self.change('    bool wet;\n', ''), 'adz_paint_options')

    def test_an_inserted_member(self):
        self.breaks(self.change('double gloss;', 'double depth;\n    double gloss;'), 'adz_paint_options')

    def test_a_member_in_the_padding(self):
        self.breaks(self.change('bool wet;', 'bool wet;\n    bool thick;'), 'thick lies in the padding')

    def test_a_struct_without_a_size_that_grows(self):
        self.breaks(self.change('int64_t strokes;', 'int64_t strokes;\n    int64_t drops;'), 'adz_report')

    def test_a_struct_with_a_size_that_another_holds(self):
        held = HEADER + 'typedef struct adz_pot {\n    adz_paint_options options;\n    int n;\n} adz_pot;\n' \
            'ADZ_API int adz_pot_n(const adz_pot *pot);\n'
        self.headers(held)
        self.run_abi('--write')
        self.breaks(self.change('bool wet;', 'bool wet;\n    double depth;', held), 'adz_pot')

    def test_a_changed_enumerator(self):
        self.breaks(self.change('ADZ_RED = 0, ADZ_GREEN', 'ADZ_RED = 0, ADZ_BLUE, ADZ_GREEN'), 'ADZ_GREEN')

    def test_a_changed_number(self):
        self.breaks(self.change('ADZ_MOST 4', 'ADZ_MOST 5'), 'ADZ_MOST')

    def test_a_changed_callback(self):
        self.breaks(self.change('(adz_colour colour, void *user);', '(adz_colour colour, int n, void *user);'), 'adz_paint_each')

    def test_a_function_that_moves_into_another_library(self):
        line = HEADER.splitlines()[-1]
        self.breaks(self.change(line, ''), 'adz_wall_report has moved from libadze to libadze-zoo', shelf=line + '\n')

    def test_additions_work(self):
        self.works(HEADER + 'ADZ_API void adz_wall_free(adz_wall **wall);\ntypedef enum adz_kind { ADZ_KIND = 1 } adz_kind;\n')

    def test_an_added_enumerator_works(self):
        self.works(self.change('ADZ_GREEN }', 'ADZ_GREEN, ADZ_BLUE }'))

    def test_a_struct_with_a_size_may_grow(self):
        self.works(self.change('bool wet;', 'bool wet;\n    double depth;\n    bool thick;'))

    def test_growth_hides_no_other_change(self):
        self.breaks(self.change('double gloss;\n    bool wet;', 'float gloss;\n    bool wet;\n    double depth;'), 'gloss')

    def test_a_break_needs_its_line_in_the_changelog(self):
        self.headers(self.change('double gloss', 'float gloss'))
        status, said = self.run_abi('--write')
        self.assertEqual((status, self.text()), (1, self.record))
        self.assertIn('does not say what became of `adz_paint_options`', said)
        self.tree("'0.3.0-dev'", '- `adz_paint_options.gloss` is a float.')
        self.assertEqual(self.run_abi('--write')[0], 0)
        self.assertEqual(self.run_abi()[0], 0)

    def test_a_break_raises_the_soname_of_a_release(self):
        self.headers(self.change('double gloss', 'float gloss'))
        for version, released in (("'0.3.0'", '0.2.0'), ("'0.3.1-dev'", '0.3.0'), ("'0.3.1'", '0.3.0 - 2026-05-31')):
            self.tree(version, '- `adz_paint_options.gloss` is a float.', released)
            status, said = self.run_abi('--write')
            self.assertEqual((status, self.text()), (1, self.record))
            self.assertIn('raise the version', said)
        self.tree("'0.4.0'", '- `adz_paint_options.gloss` is a float.')
        self.assertEqual(self.run_abi('--write')[0], 0)
        self.assertTrue(self.text().startswith('/* The binary interface of libadze.so.0.4 '))

    def test_a_break_needs_a_line_of_its_own(self):
        told = '- `adz_paint_options` has\n  `gloss`, and `adz_paint` takes it.\n- `ADZ_MOST` is 4.'
        self.tree("'0.3.0-dev'", told)
        self.commit()
        self.headers(self.change('double gloss', 'float gloss'))
        status, said = self.run_abi('--write')
        self.assertEqual((status, self.text()), (1, self.record))
        self.assertIn('what became of `adz_paint_options` since the record was written', said)
        self.tree("'0.3.0-dev'", told.replace('has\n  `gloss`', 'has `gloss`')) # broken into other lines
        self.assertEqual(self.run_abi('--write')[0], 1)
        self.tree("'0.3.0-dev'", '- Walls dry sooner.\n' + told)
        self.assertEqual(self.run_abi('--write')[0], 1)
        self.tree("'0.3.0-dev'", told.replace('`gloss`', 'a float `gloss`'))
        self.assertEqual(self.run_abi('--write')[0], 0)
        self.commit()
        self.headers(self.change('double gloss', 'int64_t gloss'))
        self.assertEqual(self.run_abi('--write')[0], 1)
        self.tree("'0.3.0-dev'", told.replace('`gloss`', 'a float `gloss`') + '\n- `adz_paint_options.gloss` is whole.')
        self.assertEqual(self.run_abi('--write')[0], 0)

    def test_a_version_in_development_does_not_break_the_soname_of_the_last_release(self):
        line = '- `adz_paint_options.gloss` is a float.'
        self.headers(self.change('double gloss', 'float gloss'))
        for version, released in (('1.1.0-dev', '1.0.0'), ('1.2.3-dev', '1.2.2'), ('0.3.0-dev', '0.3.0-rc1')):
            self.tree(f"'{version}'", line, released)
            status, said = self.run_abi('--write')
            self.assertEqual((status, self.text()), (1, self.record))
            self.assertIn(f'old programs would load {abi.soname(version)}', said)
        self.tree("'2.0.0-dev'", line, '1.4.0')
        self.assertEqual(self.run_abi('--write')[0], 0)

    def test_from_1_on_a_minor_version_keeps_the_soname(self):
        self.assertEqual([abi.soname(v) for v in ('0.3.0-dev', '0.10.2', '1.0.0', '1.4.2-dev', '2.0.0')],
                         ['libadze.so.0.3', 'libadze.so.0.10', 'libadze.so.1', 'libadze.so.1', 'libadze.so.2'])

    def test_the_record_compiles_to_what_the_headers_compile_to(self):
        interface = abi.Interface(TOP / 'include')
        compared = self.enterContext(abi.Compared(CC))
        text = interface.text()
        kept = '\n'.join(line for line in text.splitlines() if abi.PROTOTYPE.match(line) or 'constant_' in line)
        included = '#define adzi_node adz_node /* the tag of a type is no part of the interface */\n' + ''.join(f'#include <{name}>\n' for name in interface.headers.names)
        included += '\n'.join(f'#undef {name}' for name in interface.headers.constants) + '\n'
        kept = abi.re.sub(r'\b(adz_\w+)\(', r'(\1)(', kept)
        uses = abi.stub(text).split('__builtin_trap(); }\nvoid use_', 1)[1]
        whole = included + abi.re.sub(r'\);$', ') { __builtin_trap(); }', kept, flags=abi.re.M) + '\nvoid use_' + uses
        (compared.folder / 'mpi.h').write_text(abi.COMMUNICATOR) # of an MPI, which adze/mpi.h includes
        from_headers = compared.compile_text('headers', whole, '-I', TOP / 'include', '-I', sites(compared.folder))
        self.assertEqual(compared.differences(compared.compiled('record', text), from_headers), '')


def sites(folder):
    """A folder with adze/sites.h, which belongs to the installed headers."""
    (folder / 'adze').mkdir()
    subprocess.run([sys.executable, TOP / 'tools/sites.py', folder / 'adze/sites.h', TOP / 'include/adze'], check=True)
    return folder


if __name__ == '__main__':
    if shutil.which('abidiff') is None:
        print('abidiff is missing (Debian: abigail-tools)')
        sys.exit(77)
    CC = sys.argv.pop(1)
    unittest.main()
