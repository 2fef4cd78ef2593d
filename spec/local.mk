# SPDX-License-Identifier: BSD-3-Clause
# The generated files are in the tree: a build needs no Python.
EXTRA_DIST += spec/contract.toml spec/generate.py spec/qo_contract.py \
	spec/qo_contract_pkg.sv spec/golden/structures.txt \
	spec/golden/queues.txt
dist_doc_DATA += docs/contract.md

# By hand, after a change of contract.toml.
.PHONY: contract
contract:
	$(PYTHON) $(srcdir)/spec/generate.py --root $(srcdir)
