#!/usr/bin/env python3
"""examples.py notices what a reader would meet, and lets pass what works.

    test_examples.py PKG_CONFIG_DIR COMPILER...
"""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

FRAME = """```c
#include <stdio.h>

int main(void)
{
    puts("nothing"); /* a block replaces this line */
    return 0;
}
```

```sh
cc program.c -o program
```
"""
PAGES = [  # what is wrong, what must be said, the page
    ('nothing', '3 examples, 1 with what they print, 0 failures', FRAME + """
```c
puts("one");
```

```c
/* above main */
static int two(void)
{
    return 2;
}
```

```c
printf("%d\\n", two());
```

```text
2
```
"""),
    ('a missing header', 'does not compile', FRAME + '\n```c\nprintf("%d\\n", abs(-1));\n```\n'),
    ('a function inside main', 'does not compile', FRAME + '\n```c\nstatic int one(void)\n{\n    return 1;\n}\n```\n'),
    ('a variable that nobody uses', 'does not compile', FRAME + '\n```c\nint one = 1;\n```\n'),
    ('another output', 'instead of', FRAME + '\n```c\nputs("one");\n```\n\n```text\ntwo\n```\n'),
    ('a block above main alone', 'none that goes into main', FRAME + '\n```c\n/* above main */\nint one;\n```\n'),
    ('no program', 'no program comes first', 'cc program.c -o program\n```c\nputs("one");\n```\n'),
    ('a frame without the line', 'no line with', FRAME.replace('replaces', 'part') + '\n```c\nputs("one");\n```\n'),
    ('no command', 'how to compile', FRAME.replace('cc program.c', 'make program')),
]


def main():
    checker = pathlib.Path(__file__).with_name('examples.py').resolve()
    with tempfile.TemporaryDirectory() as folder:
        compiler = pathlib.Path(folder, 'cc')  # as it is mostly called, and as the pages call it
        command = [shutil.which(word) or word for word in sys.argv[2:]]  # ccache would call the script again
        compiler.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        compiler.chmod(0o755)
        environment = {**os.environ, 'PATH': f'{folder}:{os.environ["PATH"]}'}
        for wrong, words, text in PAGES:
            page = pathlib.Path(folder, 'page.md')
            page.write_text(text)
            done = subprocess.run([sys.executable, checker, pathlib.Path(folder, 'work'), page, sys.argv[1],
                                   'cc'], env=environment, capture_output=True, text=True, check=False)
            said = done.stdout + done.stderr
            assert (done.returncode == 0) == (wrong == 'nothing'), (wrong, said)
            assert words in said, (wrong, words, said)
            print(f'{wrong}: noticed' if done.returncode else 'a page without mistakes passes')


if __name__ == '__main__':
    main()
