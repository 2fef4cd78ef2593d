# SPDX-License-Identifier: BSD-3-Clause
"""Dependencies between the rooms point down only (STYLE, section 1).

An include that has a comment "room: <why>" on its line is let through and
printed, so that each exception is on record.
"""
import re

import source

PUBLIC = r"<qoffload/\w+\.h>"
PROVIDER = r'"providers/(provider|registry)\.h"'
# What providers share lies beside the contract.
PROVIDERS = r'"providers/\w+\.h"'
SYSTEM = r"<(?!qoffload/|mpi\.h)[\w./-]+>"
CONFIG = r'"config\.h"'


def room(*names):
    return r'"libqoffload/(' + "|".join(names) + r')/\w+\.h"'


# Folder: what its files may include. The first that fits a path counts.
ROOMS = [
    ("include/qoffload/mpi.h", [PUBLIC, r"<mpi\.h>"]),
    ("include/", [PUBLIC, r"<(stddef|stdint)\.h>"]),
    ("libqoffload/base/", [PUBLIC, SYSTEM, CONFIG, room("base")]),
    ("libqoffload/shm/", [PUBLIC, SYSTEM, CONFIG, room("base", "shm")]),
    ("libqoffload/coll/", [PUBLIC, SYSTEM, CONFIG, room("base", "coll")]),
    ("libqoffload/attach/", [PUBLIC, SYSTEM, CONFIG,
                             room("base", "shm", "attach")]),
    ("libqoffload/daemon/", [PUBLIC, SYSTEM, CONFIG, PROVIDER,
                             room("base", "shm", "coll", "agent", "attach",
                                  "daemon")]),
    # STYLE gives the client base and shm; it also compiles schedules and
    # starts the agent, both below it.
    ("libqoffload/client/", [PUBLIC, SYSTEM, CONFIG, PROVIDER,
                             room("base", "shm", "coll", "agent", "attach",
                                  "client")]),
    ("libqoffload/agent/", [PUBLIC, SYSTEM, CONFIG, PROVIDER,
                            room("base", "shm", "coll", "agent")]),
    ("libqoffload/loop/", [PUBLIC, SYSTEM, CONFIG,
                           room("base", "shm", "loop")]),
    ("libqoffload/mpi/", [PUBLIC, SYSTEM, r"<mpi\.h>"]),
    ("libqoffload/tools/", [PUBLIC, SYSTEM, CONFIG, PROVIDER,
                            r'"libqoffload/\w+/\w+\.h"']),
    ("providers/{own}/", [PUBLIC, SYSTEM, CONFIG, PROVIDERS,
                          room("base", "shm"), r'"providers/{own}/\w+\.h"']),
    ("providers/", [PUBLIC, SYSTEM, CONFIG, PROVIDERS, room("base", "shm")]),
    # Programs that a user could have written.
    ("examples/", [PUBLIC, SYSTEM, CONFIG, r"<mpi\.h>",
                   r'"(examples/)?(\w+/)*\w+\.h"(?<!config\.h")']),
    ("osu-style-bench/", [PUBLIC, SYSTEM, CONFIG, r"<mpi\.h>",
                          r'"(osu-style-bench/)?(\w+/)*\w+\.h"']),
]
# These names never belong to an example, whatever the pattern above says.
INSIDE = r'"(libqoffload|providers|spec|tests)/'


def allowed_in(path):
    for folder, allowed in ROOMS:
        own = re.match(r"providers/(\w+)/", path)
        if "{own}" in folder:
            if own is None:
                continue
            name = own.group(1)
            return [a.replace("{own}", name) for a in allowed]
        if path.startswith(folder):
            return allowed
    return None


def user_program(path):
    return path.startswith(("examples/", "osu-style-bench/"))


def check(path, text):
    for number, match in source.lines_matching(
            r"(?m)^\s*#\s*include\s*([<\"][^>\"]+[>\"])", text):
        name = match.group(1)
        line = text.split("\n")[number - 1]
        fits = any(re.fullmatch(a, name) for a in allowed_in(path))
        if user_program(path) and re.match(INSIDE, name):
            fits = False
        if fits:
            continue
        why = re.search(r"/\* room: (.*?) \*/", line)
        if why and not user_program(path):
            print(f"{path}:{number}: let through: {name}: {why.group(1)}")
        else:
            yield f"{path}:{number}: may not include {name}"


def check_links():
    """A user links libqoffload, never the core archive."""
    for folder in ("examples", "osu-style-bench"):
        path = source.TOP / folder / "local.mk"
        if not path.exists():
            continue
        for number, line in enumerate(path.read_text().split("\n"), 1):
            if re.search(r"libqoffload-core|QO_TEST_LIBS", line):
                yield f"{folder}/local.mk:{number}: links the core"


offences, seen = list(check_links()), 0
for path, text in source.c_files("include", "libqoffload", "providers",
                                 "examples", "osu-style-bench"):
    seen += 1
    if allowed_in(path) is None:
        offences.append(f"{path}: in no room")
    else:
        offences.extend(check(path, text))
source.finish("rooms", offences, seen)
