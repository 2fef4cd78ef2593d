# SPDX-License-Identifier: BSD-3-Clause
"""The environment is read once, by libqoffload/base/config.c."""
import source

offences, seen = [], 0
for path, text in source.c_files("include", "libqoffload", "providers"):
    seen += 1
    if path == "libqoffload/base/config.c":
        continue
    for number, match in source.lines_matching(
            r"\b(?:secure_getenv|getenv|environ)\b", text):
        offences.append(f"{path}:{number}: {match.group(0)}: make it a row of "
                        "a configuration table")
source.finish("getenv", offences, seen)
