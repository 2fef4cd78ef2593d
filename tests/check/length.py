# SPDX-License-Identifier: BSD-3-Clause
"""A function has at most 70 lines, a file under 500, tables aside, and a line
at most 100 columns. What a generator wrote says so and is left alone."""
import re

import source

FUNCTION_LINES, FILE_LINES, COLUMNS = 70, 499, 100
FOLDERS = ("include", "libqoffload", "providers", "tests", "examples",
           "osu-style-bench", "spec")


def blocks(lines):
    """(kind, first, last) of what stands between braces at column 0."""
    start, kind = None, None
    for number, line in enumerate(lines, 1):
        if start is None and line.startswith("{"):
            start, kind = number, "function"
        elif start is None and re.match(r"\w.*=\s*\{\s*$", line):
            start, kind = number, "table"
        elif start is not None and line.startswith("}"):
            yield kind, start, number
            start = None


def check(path, text):
    lines = source.code(text).split("\n")
    tables = 0
    for kind, first, last in blocks(lines):
        length = last - first + 1
        if kind == "table":
            tables += length
        elif length > FUNCTION_LINES:
            yield (f"{path}:{first}: a function of {length} lines "
                   f"(at most {FUNCTION_LINES})")
    length = len(lines) - 1 - tables
    if length > FILE_LINES:
        yield f"{path}: {length} lines, tables aside (at most {FILE_LINES})"
    for number, line in enumerate(text.split("\n"), 1):
        if len(line.expandtabs(8)) > COLUMNS:
            yield (f"{path}:{number}: {len(line.expandtabs(8))} columns "
                   f"(at most {COLUMNS})")


offences, seen = [], 0
for path, text in source.c_files(*FOLDERS):
    seen += 1
    if not re.search(r"(?i)\bgenerated (by|from)\b", text[:500]):
        offences.extend(check(path, text))
source.finish("length", offences, seen)
