# SPDX-License-Identifier: BSD-3-Clause
"""Only libqoffload/shm/atomic.h names an atomic, a fence, volatile or asm.

device.h is exempt: it must stand alone. Tests, benchmarks and examples are
other parties to the contract, or programs of users, and may have their own.
"""
import source

NAMES = (r"\b(?:memory_order_\w+|__atomic_\w+|__sync_\w+|_Atomic|ATOMIC_\w+"
         r"|atomic_(?:\w+_explicit|load|store|exchange|fetch_\w+"
         r"|compare_exchange_\w+|thread_fence|signal_fence|flag\w*|init)"
         r"|volatile|__volatile__|asm|__asm__|__asm|_mm_[lms]fence"
         r"|__builtin_ia32_\w*fence|stdatomic)\b")
EXEMPT = {"libqoffload/shm/atomic.h", "include/qoffload/device.h"}

offences, seen = [], 0
for path, text in source.c_files("include", "libqoffload", "providers"):
    seen += 1
    if path in EXEMPT:
        continue
    for number, match in source.lines_matching(NAMES, text):
        offences.append(f"{path}:{number}: {match.group(0)}: say it through "
                        "libqoffload/shm/atomic.h")
source.finish("atomics", offences, seen)
