# SPDX-License-Identifier: BSD-3-Clause
"""What the rule tests share: the source tree's C files, and their code alone."""
import os
import re
import sys
from pathlib import Path

TOP = Path(os.environ.get("top_srcdir", Path(__file__).parents[2])).resolve()

TOKEN = re.compile(
    r"""/\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""",
    re.S | re.X)


def code(text):
    """Blanks comments and literals; lines and columns stay where they are."""
    def blank(match):
        if line_start_is_include(text, match.start()):
            return match.group(0)
        return re.sub(r"[^\n]", " ", match.group(0))
    return TOKEN.sub(blank, text)


def line_start_is_include(text, position):
    start = text.rfind("\n", 0, position) + 1
    return re.match(r"\s*#\s*include\b", text[start:position]) is not None


def c_files(*folders):
    """(path from the top, text) of every C file below the folders."""
    for folder in folders:
        for path in sorted((TOP / folder).rglob("*.[ch]")):
            yield str(path.relative_to(TOP)), path.read_text()


def lines_matching(pattern, text):
    """(line number, match) for every match in the text's code."""
    clean = code(text)
    for match in re.finditer(pattern, clean):
        yield clean.count("\n", 0, match.start()) + 1, match


def finish(rule, offences, seen):
    """Prints what offends; a rule that looked at nothing has not passed."""
    for offence in offences:
        print(offence)
    if seen == 0:
        print("no source file was found below", TOP)
    print(f"{rule}: {seen} files, {len(offences)} offences")
    sys.exit(1 if offences or seen == 0 else 0)
