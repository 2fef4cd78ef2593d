#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The SystemVerilog package passes a linter, and its packed structures take
the golden vectors apart as the C structures do."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import golden
import qo_contract as contract

PACKAGE = golden.TOP / "spec" / "qo_contract_pkg.sv"
SV_RESERVED = {"sequence", "type"}


def literal(value, bits):
    return f"{bits}'h{value:x}"


def as_number(value, element_bytes):
    if isinstance(value, bytes):
        return int.from_bytes(value, "little")
    if isinstance(value, tuple):
        return sum(v << 8 * element_bytes * i for i, v in enumerate(value))
    return value


def checks():
    """One assignment and one comparison per field of each vector."""
    for n, (sort, layout, name, fields, image) in \
            enumerate(golden.structures()):
        bits = 8 * len(image)
        number = int.from_bytes(image, "little")
        yield f"    // {name}"
        yield f"    v{n} = {literal(number, bits)};"
        for field, value in fields.items():
            size = (contract.LAYOUTS[layout].FIELDS[field][1]
                    if sort == "struct" else 0)
            member = f"v{n}.{field}" + ("_" if field in SV_RESERVED else "")
            text = literal(as_number(value, size), bits)
            yield (f"    if ({member} !== {text}) begin bad = bad + 1; "
                   f"$display(\"{name} {field}\"); end")


def testbench():
    vectors = golden.structures()
    out = ["module contract_test;", "  import qo_contract_pkg::*;",
           "  int bad = 0;"]
    out += [f"  {layout}_t v{n};"
            for n, (_, layout, _, _, _) in enumerate(vectors)]
    out += ["  initial begin"]
    for layout in contract.LAYOUTS.values():
        out += [f"    if ($bits({layout.name}_t) != 8 * "
                f"{layout.name.upper()}_BYTES || "
                f"{layout.name.upper()}_BYTES != {layout.SIZE}) "
                f"begin bad = bad + 1; $display(\"{layout.name}\"); end"]
    out += [f"    if (LAYOUT_HASH != {literal(contract.LAYOUT_HASH, 64)}) "
            "bad = bad + 1;"]
    out += checks()
    out += ["    if (bad == 0) $display(\"all right\");", "    $finish;",
            "  end", "endmodule", ""]
    return "\n".join(out)


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


class ContractSvTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.bench = pathlib.Path(self.folder.name) / "contract_test.sv"
        self.bench.write_text(testbench())

    def tearDown(self):
        self.folder.cleanup()

    @unittest.skipUnless(shutil.which("verilator"), "no verilator")
    def test_verilator_finds_nothing_in_the_package(self):
        top = pathlib.Path(self.folder.name) / "top.sv"
        top.write_text("module top(output qo_contract_pkg::hello_t hello);\n"
                       "  assign hello = '0;\nendmodule\n")
        result = run("verilator", "--lint-only", "-Wall", "-Wno-DECLFILENAME",
                     str(PACKAGE), str(top), "--top-module", "top")
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    @unittest.skipUnless(shutil.which("iverilog"), "no iverilog")
    def test_packed_structures_agree_with_the_vectors(self):
        program = str(pathlib.Path(self.folder.name) / "contract_test.vvp")
        result = run("iverilog", "-g2012", "-Wall", "-Wno-timescale", "-o",
                     program, str(PACKAGE), str(self.bench))
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        result = run("vvp", "-n", program)
        self.assertEqual(result.stdout.splitlines()[0], "all right",
                         result.stdout)


if __name__ == "__main__":
    if not shutil.which("verilator") and not shutil.which("iverilog"):
        print("skipped: neither verilator nor iverilog is here")
        sys.exit(77)
    unittest.main()
