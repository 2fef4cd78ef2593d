# SPDX-License-Identifier: BSD-3-Clause
TESTS += tests/mutation/mutate.sh
EXTRA_DIST += tests/mutation/mutate.sh tests/mutation/mutants.txt
