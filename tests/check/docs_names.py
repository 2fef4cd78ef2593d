# SPDX-License-Identifier: BSD-3-Clause
"""What the documents name is there: functions, macros, variables, files.

docs/config.md and docs/contract.md are written by programs and compared with
their output elsewhere; docs/config.md says which variables there are.
"""
import re

import source

CHECKED = ["*.md", "docs/*.md", "docs/man/*", "examples/**/*.md",
           "providers/*.md", "osu-style-bench/*.md"]
GENERATED = {"docs/config.md", "docs/contract.md"}
FOLDERS = ("docs", "examples", "include", "libqoffload", "m4",
           "osu-style-bench", "providers", "spec", "tests")
# Where a name is made that others may use.
MAKERS = ["docs/config.md", "configure.ac", "m4/*.m4", "include/qoffload/*.h",
          "libqoffload/**/*.[ch]", "providers/**/*.[ch]", "spec/*.toml"]
# Programs and other files that only a build has.
FRAGMENTS = ["Makefile.am", "*/local.mk", "*/*/local.mk"]


def text_of(patterns):
    return "\n".join(path.read_text() for pattern in patterns
                     for path in sorted(source.TOP.glob(pattern)))


MADE = text_of(MAKERS)
WORDS = set(re.findall(r"\w+", MADE))
FUNCTIONS = set(re.findall(r"(\w+)\(", MADE))
FILES = {path.stem for folder in FOLDERS
         for path in (source.TOP / folder).rglob("*") if path.is_file()}
BUILT = set(re.findall(r"[\w-]+(?:/[\w.-]+)+", text_of(FRAGMENTS)))
BUILT_NAMES = {name.rsplit("/", 1)[1] for name in BUILT}


def plain(text, path):
    """Without the title, escapes and fonts of a manual page."""
    if "/man/" in path:
        text = re.sub(r"(?m)^\.TH .*|\\f[BIR]", "", text)
        text = text.replace("\\-", "-")
    return text


def names(text):
    """Functions by their parentheses, and all else that bears our prefix."""
    for match in re.finditer(
            r"\b((?:QO|qoi?)_\w*[A-Za-z0-9])\b(?!_?[<*])( ?\(\)|\()?", text):
        word, call = match.groups()
        if call is not None:
            there = word in FUNCTIONS
        else:
            there = word in WORDS | FILES or word in BUILT_NAMES
        if not there:
            yield match.start(), word


def paths(text, folder):
    """Paths from the top, and targets of links."""
    top = "|".join(map(re.escape, FOLDERS))
    for match in re.finditer(rf"(?<![\w/.$-])(?:{top})/[\w./*+-]*[\w*/]", text):
        name = match.group(0)
        if "NAME" in name or name in BUILT or any(source.TOP.glob(name)):
            continue
        yield match.start(), name
    for match in re.finditer(r"\]\((?!https?:|#)([^)#\s]+)", text):
        if not (folder / match.group(1)).exists():
            yield match.start(1), match.group(1)


offences, seen = [], 0
for pattern in CHECKED:
    for document in sorted(source.TOP.glob(pattern)):
        path = str(document.relative_to(source.TOP))
        if path in GENERATED:
            continue
        seen += 1
        text = plain(document.read_text(), path)
        for position, name in [*names(text), *paths(text, document.parent)]:
            line = text.count("\n", 0, position) + 1
            offences.append(f"{path}:{line}: there is no {name}")
source.finish("docs_names", offences, seen)
