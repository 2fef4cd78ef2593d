# SPDX-License-Identifier: BSD-3-Clause
# The rules of STYLE that are marked [check].

qo_check_sh = tests/check/symbols.sh tests/check/headers.sh \
	tests/check/install.sh tests/check/cross.sh tests/check/man.sh \
	tests/check/names.sh tests/check/readme_program.sh
qo_check_py = tests/check/atomics.py tests/check/getenv.py \
	tests/check/length.py tests/check/rooms.py tests/check/offences.py \
	tests/check/docs_names.py

EXTRA_DIST += $(qo_check_sh) $(qo_check_py) tests/check/source.py \
	tests/check/lib.sh tests/check/sample.c
TESTS += $(qo_check_sh)
if HAVE_PYTHON
TESTS += $(qo_check_py)
endif

# Each looks at what is built.
tests/check/symbols.log tests/check/install.log: all-am
tests/check/readme_program.log: all-am
