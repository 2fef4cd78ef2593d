#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
exec "$top_builddir/tests/fault/resource_fault" inline
