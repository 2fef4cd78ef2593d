# SPDX-License-Identifier: BSD-3-Clause
"""Each rule test can fail: a small tree that keeps the rules passes, and the
same tree with one offence is refused with the offender's name."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent.resolve()

CLEAN = {
    "include/qoffload/x.h": "#include <stdint.h>\nint qo_x(int32_t y);\n",
    "include/qoffload/device.h": "#include <stdint.h>\n",
    "libqoffload/libqoffload.symbols": "qo_x\n",
    "libqoffload.map": "V {\nglobal:\n\tqo_x;\nlocal:\n\t*;\n};\n",
    "libqoffload/base/config.c": "#include <stdlib.h>\n"
    "char *x(void);\nchar *x(void)\n{\n\treturn getenv(\"Y\");\n}\n",
    "libqoffload/base/log.c": "/* volatile, getenv */ int x; char *s = \"asm\";\n",
    "libqoffload/shm/atomic.h": "#include <stdatomic.h>\n",
    "libqoffload/base/log.h": "int qoi_log(void);\n",
    "libqoffload/shm/ring.c": '#include "libqoffload/base/log.h"\n',
    "providers/shm/shm.c": '#include "providers/provider.h"\n',
    "examples/one.c": '#include <qoffload/x.h>\n#include "own.h"\n',
    "osu-style-bench/two.c": "#include <stdatomic.h>\n#include <mpi.h>\n",
    "docs/man/x.1": ".TH x 1 today\n.SH NAME\nx \\- does x\n",
    "tests/check/lib.sh": (HERE / "lib.sh").read_text(),
    "examples/hello.c": "#include <qoffload/x.h>\n",
    "README.md": "include/qoffload/x.h has qo_x().\n"
    "```c\n#include <qoffload/x.h>\n```\n"
    "cc hello.c -o hello $(pkg-config --cflags --libs libqoffload-mpi-x)\n",
}
LONG_FUNCTION = "int x(void)\n{\n" + "\tx();\n" * 69 + "}\n"

# Test, file, what it gets, words that the refusal must have.
OFFENCES = [
    ("atomics.py", "libqoffload/base/log.c", "volatile int x;\n", "log.c:1"),
    ("atomics.py", "libqoffload/shm/ring.c", "\n_Atomic int x;\n", "ring.c:2"),
    ("atomics.py", "libqoffload/shm/ring.c",
     "int x = memory_order_seq_cst;\n", "ring.c:1"),
    ("atomics.py", "providers/shm/shm.c",
     "void x(void)\n{\n\t__asm__(\"mfence\");\n}\n", "shm.c:3"),
    ("atomics.py", "include/qoffload/x.h", "#include <stdatomic.h>\n",
     "x.h:1"),
    ("atomics.py", "libqoffload/base/log.c",
     "int x = __atomic_load_n(&y, 2);\n", "log.c:1"),
    ("getenv.py", "libqoffload/base/log.c", "char *x = getenv(\"Y\");\n",
     "log.c:1"),
    ("getenv.py", "providers/shm/shm.c", "char *x = secure_getenv(\"Y\");\n",
     "shm.c:1"),
    ("length.py", "libqoffload/base/log.c", LONG_FUNCTION, "71 lines"),
    ("length.py", "examples/one.c", "int x;\n" * 500, "500 lines"),
    ("length.py", "tests/unit/x.c", "int " + "x" * 97 + ";\n", "102 columns"),
    ("rooms.py", "libqoffload/base/log.c",
     '#include "libqoffload/shm/ring.h"\n', "log.c:1"),
    ("rooms.py", "libqoffload/coll/x.c",
     '#include "libqoffload/agent/agent.h"\n', "x.c:1"),
    ("rooms.py", "providers/shm/shm.c",
     '#include "providers/self/self.h"\n', "shm.c:1"),
    ("rooms.py", "libqoffload/shm/ring.c", "#include <mpi.h>\n", "ring.c:1"),
    ("rooms.py", "include/qoffload/x.h", "#include <stdio.h>\n", "x.h:1"),
    ("rooms.py", "examples/one.c", '#include "libqoffload/base/log.h"\n',
     "one.c:1"),
    ("rooms.py", "osu-style-bench/two.c", '#include "providers/provider.h"\n',
     "two.c:1"),
    ("rooms.py", "examples/local.mk", "x_LDADD = $(QO_TEST_LIBS)\n",
     "local.mk:1"),
    ("rooms.py", "libqoffload/new/x.c", "int x;\n", "in no room"),
    ("headers.sh", "include/qoffload/x.h", "uint32_t qo_x(void);\n",
     "x.h alone"),
    ("headers.sh", "include/qoffload/x.h", "// not in C99 pedantic\nint x[0];\n",
     "x.h alone"),
    ("headers.sh", "include/qoffload/new.h", "int qo_new(void);\n",
     "not installed"),
    ("man.sh", "docs/man/x.1", ".TH x 1 today\n.SH NAME\n.NOSUCH x\n",
     "x.1 has mistakes"),
    ("names.sh", "the list of tests", "a/b a/c.sh a/c", "named a/c"),
    ("man.sh", "docs/man/x.1", ".TH x 1 today\n.SH USE\n", "no section"),
    ("symbols.sh", "libqoffload/libqoffload.symbols", "qo_x\nqo_y\n", "-qo_y"),
    ("symbols.sh", "include/qoffload/x.h", "int qo_x(int); int qo_z(int);\n",
     "+qo_z"),
    ("symbols.sh", "libqoffload.map", "V {\nlocal:\n\t*;\n};\n", "-qo_x"),
    ("symbols.sh", "libqoffload/base/x.c", "int strange(void);\n"
     "int strange(void)\n{\n\treturn 1;\n}\n", "strange"),
    ("cross.sh", "libqoffload/shm/ring.c", "int x(int y);\n"
     "int x(int y)\n{\n\treturn 1;\n}\n", "ring.c does not compile"),
    ("cross.sh", "libqoffload/shm/ring.c", "__int128 x(_Atomic __int128 *y);\n"
     "__int128 x(_Atomic __int128 *y)\n{\n\treturn (*y)++;\n}\n",
     "ring.c calls libatomic"),
    ("symbols.sh", "providers/shm/x.c", "int qo_self_y = 1;\n", "qo_self_y"),
    ("docs_names.py", "README.md", "call\nqo_y()\n", "README.md:2"),
    ("docs_names.py", "README.md", "set QO_AGENTS\n", "no QO_AGENTS"),
    ("docs_names.py", "README.md", "see docs/y.md\n", "no docs/y.md"),
    ("docs_names.py", "docs/z.md", "see [y](../docs/y.md)\n", "z.md:1"),
    ("docs_names.py", "docs/man/x.1", ".SH NAME\n.BR qo_y ()\n", "no qo_y"),
    ("readme_program.sh", "examples/hello.c", "int x;\n", "is not examples"),
    ("readme_program.sh", "README.md", "no program\n", "has no program"),
]


def compile_objects(tree):
    """What symbols.sh looks at: an object beside its source."""
    for path in list(tree.glob("libqoffload/base/x.c")) + list(
            tree.glob("providers/*/x.c")):
        subprocess.run(os.environ.get("CC", "cc").split() +
                       ["-c", path, "-o", path.with_suffix(".o")], check=True)
    base = tree / "libqoffload/base/log.o"
    subprocess.run(os.environ.get("CC", "cc").split() +
                   ["-x", "c", "-c", "-o", base, "-"],
                   input=b"int qoi_x = 1;\n", check=True)


def run(test, path=None, text=None):
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        files = dict(CLEAN)
        if path is not None:
            files[path] = text
        for name, content in files.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(content)
        if test == "symbols.sh":
            compile_objects(tree)
        environment = dict(
            os.environ, top_srcdir=folder, top_builddir=folder,
            CHECK_MPI_CFLAGS="", CHECK_TOOLS="bin/x",
            CHECK_TESTS=(text if path == "the list of tests" else "a/b a/c"),
            CHECK_HEADERS="include/qoffload/x.h include/qoffload/device.h")
        interpreter = sys.executable if test.endswith(".py") else "/bin/sh"
        done = subprocess.run([interpreter, HERE / test], env=environment,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout


wrong = 0
for test in sorted({offence[0] for offence in OFFENCES}):
    status, said = run(test)
    if status == 77:  # the tool that it needs is not here
        print(f"{test}: {said}")
        OFFENCES = [offence for offence in OFFENCES if offence[0] != test]
    elif status != 0:
        wrong += 1
        print(f"{test}: refuses a tree without offence ({status}):\n{said}")
for test, path, text, words in OFFENCES:
    status, said = run(test, path, text)
    if status != 1 or words not in said:
        wrong += 1
        print(f"{test}: {text[:40]!r} in {path}: exit {status}, "
              f"wanted 1 and {words!r}:\n{said}")
print(f"offences: {len(OFFENCES)} tried, {wrong} not found")
sys.exit(wrong != 0)
