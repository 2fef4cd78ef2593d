# SPDX-License-Identifier: BSD-3-Clause
"""Reads the golden vectors of spec/golden, for the Python tests."""
import os
import pathlib
import sys

sys.dont_write_bytecode = True  # the source tree may be read-only
TOP = pathlib.Path(os.environ.get(
    "srcdir", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(TOP / "spec"))

import qo_contract  # noqa: E402


def lines(name):
    for line in (TOP / "spec" / "golden" / name).read_text().splitlines():
        if line and not line.startswith("#"):
            yield line.split()


def put(image, words):
    offset, data = int(words[1]), bytes.fromhex(words[2])
    image[offset:offset + len(data)] = data


def structures():
    """Gives (sort, layout, name, {field: value}, bytes) for each vector."""
    out = []
    for words in lines("structures.txt"):
        if words[0] == "field":
            out[-1][3][words[1]] = words[2:]
        elif words[0] == "bytes":
            put(out[-1][4], words)
        else:
            size = (qo_contract.LAYOUTS[words[1]].SIZE
                    if words[0] == "struct"
                    else qo_contract.WORDS[words[1]].BITS // 8)
            out.append((words[0], words[1], words[2], {}, bytearray(size)))
    for sort, layout, _, fields, _ in out:
        table = (qo_contract.LAYOUTS if sort == "struct"
                 else qo_contract.WORDS)[layout].FIELDS
        for name, values in fields.items():
            if sort == "struct" and table[name][1] == 1 \
                    and table[name][2] > 1:
                fields[name] = bytes.fromhex(values[0])
            elif len(values) > 1:
                fields[name] = tuple(int(v, 0) for v in values)
            else:
                fields[name] = int(values[0], 0)
    return out


def messages():
    """Gives a dict for each message of queues.txt."""
    out = []
    for words in lines("queues.txt"):
        if words[0] == "message":
            out.append({"name": words[1]})
        elif words[0] == "slot":
            out[-1]["index"] = int(words[1])
            out[-1]["slot"] = bytearray(int(words[2]))
        elif words[0] == "bytes":
            put(out[-1]["slot"], words)
        elif words[0] == "payload":
            out[-1]["payload"] = bytes.fromhex(words[1])
        else:
            out[-1][words[0]] = int(words[1], 0)
    return out
