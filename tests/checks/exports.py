#!/usr/bin/env python3
"""What a shared library shows and what it calls.

It may export only adz_ names, must have a soname, and what it takes from elsewhere must be on
the list below: a library that can call abort, exit or printf is one that may end or write into
somebody else's program.

usage: exports.py LIBRARY [--asserts] [--clang] [--linked-openblas] [--mpi | --shelf NAME] [--headers FOLDER]
                  [--version NAME] [--must-find TEXT ...]

--asserts    a debug build: its assertions may stay
--clang      the compiler was clang, which calls abort where a cleanup fails while an exception passes
--linked-openblas  OpenBLAS is linked. Otherwise the library loads it, and must not name it as needed.
--mpi        the library is libadze-mpi: it exports adz_mpi_ names, calls MPI and libadze, and prints a
             message before it aborts. Any other library must not need MPI.
--shelf      the library is libadze-NAME, one of src/shelves.txt, and calls libadze
--headers    the public headers: what they do not declare must not be exported, and what a library's own headers
             declare, by it alone and in any case
--version    the version that each exported name carries, ADZE_0.3
--must-find  turns the check round: it passes when every TEXT is among the findings
"""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'tools'))
from shelves import shelf_of  # noqa: E402

# The system keeps little memory for the thread-local variables of libraries that a running program
# loads, as Python does: some 1,600 bytes for all of them (glibc's rtld.optional_static_tls).
MOST_THREAD_LOCAL = 256

# By what they are for. strtod and its kin are absent because they obey the locale, printf and
# the standard streams because they are the program's; add a name only with such a thought.
ALLOWED = [
    # what adze rests on
    r"json_\w+", r"jansson_\w+",
    r"omp_\w+", r"GOMP_\w+", r"__kmpc_\w+", r"pthread_\w+", r"sched_\w+",
    # memory and strings
    r"malloc|calloc|realloc|free|aligned_alloc|posix_memalign|malloc_usable_size",
    r"mem(cpy|move|set|cmp|chr|mem|rchr)", "bcmp", r"str(n?cmp|n?cpy|n?len|r?chr|str|cspn|spn|pbrk)",
    r"strn?casecmp|strerror_r|__xpg_strerror_r|strto(l|ll|ul|ull)|__isoc23_strto\w+",
    r"v?snprintf|qsort|bsearch|__ctype_\w+_loc|iswprint",
    r"newlocale|freelocale|uselocale|strto(f|d)_l",
    # mathematics
    r"(a?(sin|cos|tan)h?|sincos|exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|sqrt|cbrt|erfc?|[lt]gamma"
    r"|fma|fmod|remainder|floor|ceil|trunc|l?l?r(ound|int)|nearbyint|ldexp|frexp|scalbl?n|hypot"
    r"|f(max|min|dim)|atan2|copysign|nextafter|logb|ilogb|modf|nan)f?",
    # files, for io and data, and the caller's own FILE
    r"open|open64|openat(64)?|close|read|write|pread|pread64|pwrite|pwrite64|lseek|lseek64",
    r"(f|l)?stat(64)?|fstatat(64)?|access|ftruncate(64)?|fsync|fdatasync|rename|unlink(at)?|remove|mkdir",
    r"mk(o?)stemp(64)?|mmap(64)?|munmap|madvise|realpath|flock|posix_fallocate(64)?|fchmod|umask",
    r"f(open|dopen|close|read|write|flush|error|eof|putc|puts|getc|gets|ileno|seek|tell)(64)?",
    r"f(seeko|tello)(64)?|getline|getdelim|clearerr|ungetc|putc|getc|getc_unlocked|setvbuf",
    r"open_memstream|(read|open|close)dir(64)?|dirfd",
    # the machine
    r"__sched_cpucount|__libc_single_threaded|sigfillset|dlopen|dlsym|dlclose|dlerror|localeconv|geteuid",
    r"getenv|secure_getenv|sysconf|getpid|gettid|get_nprocs|getauxval|syscall|nanosleep|usleep",
    r"clock_gettime|clock_nanosleep|timespec_get|__errno_location|isatty|getrandom|gethostname",
    r"atexit|__cxa_atexit|__cxa_thread_atexit_impl|__register_atfork|at_quick_exit",
    r"sem_\w+|__tls_get_addr|__stack_chk_fail|__memcpy_chk|__memset_chk|__v?snprintf_chk",
    r"__cpu_model|__cpu_indicator_init|_?setjmp|longjmp",
    # put in by the compiler and the linker
    r"__cxa_finalize|__gmon_start__|_ITM_\w+|__\w*(hf|bf|sf|df)\w*\d|__(mul|div|mod|udiv|umod)ti3",
    r"(backtrace|dladdr)\w*",
    # what a callback's exception in C++ needs to pass variables that have a cleanup
    "_Unwind_Resume|__gcc_personality_v0",
]


OPENBLAS_ALLOWED = [r"cblas_\w+", r"openblas_\w+"]
MPI_ALLOWED = [r"MPI_\w+", r"ompi_\w+", r"adz_\w+", "stderr|fprintf|fflush|__fprintf_chk|fwrite"]


def versioned_symbols(library, which):
    """(name, version) of the symbols. The versions themselves are absolute symbols, and none of these."""
    lines = subprocess.run(["nm", "-D", which, library], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    parts = [line.split() for line in lines if line.strip()]
    return [(words[-1].split("@")[0], words[-1].rpartition("@")[2] if "@" in words[-1] else "") for words in parts
            if words[-2] != "A"]


def symbols(library, which):
    return [name for name, _ in versioned_symbols(library, which)]


def unversioned(library, version):
    """Yields each exported name that does not carry the version."""
    for name, found in versioned_symbols(library, "--defined-only"):
        if found != version:
            yield f"exports {name} with the version {found or 'of nobody'}, not {version}"


def misplaced(library, headers, shelf):
    """Yields each exported name that no header in the folder has in front of a parenthesis, or a header of another
    library."""
    declared = {}
    for path in sorted(pathlib.Path(headers).rglob("*.h")):
        own = shelf_of(path.relative_to(headers).as_posix())
        own = "mpi" if path.name == "mpi.h" else own
        declared.update((name, own) for name in re.findall(r"^ADZ_API\b[^(;]*\b(adz_\w+)\(", path.read_text(encoding="utf-8"), re.M))
    exported = symbols(library, "--defined-only")
    for name in sorted(declared.keys() - set(exported)):
        if declared[name] == shelf:
            yield f"does not export {name}, which its headers declare"
    for name in exported:
        if name.startswith("adz_") and name not in declared:
            yield f"exports {name}, which no public header declares"
        elif name.startswith("adz_") and declared[name] != shelf:
            own = declared[name]
            yield f"exports {name}, which belongs into {'libadze-' + own if own else 'libadze'}"


def thread_local_bytes(library):
    headers = subprocess.run(["readelf", "-lW", library], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    found = re.search(r"^ *TLS +\S+ +\S+ +\S+ +\S+ +0x([0-9a-f]+)", headers, re.M)
    return int(found.group(1), 16) if found else 0


def findings(library, options):
    asserts, mpi, shelf = "--asserts" in options, "--mpi" in options, "--shelf" in options
    linked = "--linked-openblas" in options
    patterns = ALLOWED + (MPI_ALLOWED if mpi else []) + ([r"adz_\w+"] if shelf else [])
    patterns += (["abort"] if "--clang" in options else []) + (OPENBLAS_ALLOWED if linked else [])
    allowed = re.compile("(?:" + "|".join(f"(?:{p})" for p in patterns) + r")\Z")
    prefix = "adz_mpi_" if mpi else "adz_"
    for name in symbols(library, "--defined-only"):
        if not name.startswith(prefix):
            yield f"exports {name}, which is not an {prefix} name"
    ends = "adz_die" in symbols(library, "--defined-only") # links.py sees that nothing else calls exit
    for name in symbols(library, "--undefined-only"):
        if not (ends and name == "exit") and not (allowed.match(name) or asserts and name == "__assert_fail"):
            yield f"calls {name}, which is not on the list in tests/checks/exports.py"
    dynamic = subprocess.run(["readelf", "-d", library], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    if "SONAME" not in dynamic:
        yield "has no soname"
    size = thread_local_bytes(library)
    if size > MOST_THREAD_LOCAL:
        yield f"has {size} bytes of thread-local variables; what a thread needs goes into adzi_thread"
    needed = re.findall(r"NEEDED.*\[(lib(?:mpi|mpich|open-rte|open-pal)\b.*)\]", dynamic)
    if needed and not mpi:
        yield f"needs {needed[0]}: MPI belongs into libadze-mpi"
    needed = re.findall(r"NEEDED.*\[(lib\w*blas\b.*)\]", dynamic)
    if needed and not linked:
        yield f"needs {needed[0]}, which is loaded when it is first needed (src/tensor/gemm/openblas.h)"


def main():
    arguments = sys.argv[1:]
    wanted = []
    if "--must-find" in arguments:
        cut = arguments.index("--must-find")
        arguments, wanted = arguments[:cut], arguments[cut + 1:]
    found = list(findings(arguments[0], arguments[1:]))
    if "--headers" in arguments:
        shelf = arguments[arguments.index("--shelf") + 1] if "--shelf" in arguments else None
        shelf = "mpi" if "--mpi" in arguments else shelf
        found += misplaced(arguments[0], arguments[arguments.index("--headers") + 1], shelf)
    if "--version" in arguments:
        found += unversioned(arguments[0], arguments[arguments.index("--version") + 1])
    if wanted:
        missed = [text for text in wanted if not any(text in line for line in found)]
        for text in missed:
            print(f"not found: {text}")
        return 1 if missed else 0
    for line in found:
        print(f"{arguments[0]}: {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
