#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The generated files are up to date, and the Python module agrees with the
golden vectors, which the C test reads too."""
import sys
import unittest

import golden
import qo_contract as contract

try:
    import generate
except ModuleNotFoundError as error:
    print(f"skipped: {error} (tomllib comes with Python 3.11)")
    sys.exit(77)


def read_classic(message):
    """The payload, from the rule in contract.md; None: not there."""
    slot = bytes(message["slot"])
    header = contract.edge_slot.unpack(slot[:contract.edge_slot.SIZE])
    if header["sequence"] != (message["position"] + 1) % 2**64:
        return None
    if header["bytes"] > message["payload_bytes"]:
        return None
    return (header["kind"], header["flags"],
            slot[contract.edge_slot.SIZE:][:header["bytes"]])


def read_chunks(message):
    width = 16 if message["encoding"] == contract.ENCODING_CHUNK16 else 8
    tag_bytes, prefix = contract.CHUNK_TAG_BYTES, contract.CHUNK_PREFIX_BYTES
    slot = bytes(message["slot"])
    tag = message["position"] // message["slot_count"] % 2**16
    stream = b""
    for at in range(0, len(slot), width):
        piece = slot[at:at + width]
        if int.from_bytes(piece[-tag_bytes:], "little") != tag:
            return None
        stream += piece[:-tag_bytes]
        size = int.from_bytes(stream[:4], "little")
        if len(stream) >= prefix + size:
            break
    return (int.from_bytes(stream[4:6], "little"),
            int.from_bytes(stream[6:8], "little"),
            stream[prefix:prefix + size])


class ContractTest(unittest.TestCase):
    def test_the_generated_files_are_what_the_generator_gives(self):
        definition = generate.load(golden.TOP / "spec" / "contract.toml")
        for name, make in generate.OUTPUTS.items():
            with self.subTest(name):
                self.assertEqual((golden.TOP / name).read_text(),
                                 make(definition),
                                 "run spec/generate.py")

    def test_a_change_of_the_definition_changes_the_hash(self):
        definition = generate.load(golden.TOP / "spec" / "contract.toml")
        self.assertEqual(definition["hash"], contract.LAYOUT_HASH)
        definition["struct"][0]["field"][0]["name"] += "x"
        self.assertNotEqual(generate.layout_hash(definition),
                            contract.LAYOUT_HASH)

    def test_a_layout_with_padding_or_a_wrong_sum_is_refused(self):
        padded = {"name": "s", "bytes": 16, "field": [
            {"name": "a", "type": "u32"}, {"name": "b", "type": "u64"}]}
        short = {"name": "s", "bytes": 16, "field": [
            {"name": "a", "type": "u64"}]}
        for struct in padded, short:
            with self.assertRaises(SystemExit):
                generate.place_fields(struct)

    def test_structures_lie_in_memory_as_the_vectors_say(self):
        vectors = golden.structures()
        self.assertEqual(len(vectors), 24)
        for sort, layout, name, fields, image in vectors:
            with self.subTest(name):
                if sort == "word":
                    word = contract.WORDS[layout]
                    number = int.from_bytes(image, "little")
                    self.assertEqual(word.pack(**fields), number)
                    found = word.unpack(number)
                else:
                    struct = contract.LAYOUTS[layout]
                    self.assertEqual(struct.pack(**fields), bytes(image))
                    found = struct.unpack(bytes(image))
                for field, value in fields.items():
                    self.assertEqual(found[field], value, field)

    def test_every_layout_and_word_has_a_vector(self):
        names = {vector[1] for vector in golden.structures()}
        self.assertEqual(names, {*contract.LAYOUTS, *contract.WORDS})

    def test_messages_are_read_from_slots_as_the_vectors_say(self):
        vectors = golden.messages()
        self.assertEqual({m["encoding"] for m in vectors}, {
            contract.ENCODING_CLASSIC, contract.ENCODING_CHUNK16,
            contract.ENCODING_CHUNK8})
        for message in vectors:
            with self.subTest(message["name"]):
                read = (read_classic
                        if message["encoding"] == contract.ENCODING_CLASSIC
                        else read_chunks)
                self.assertEqual(message["index"], message["position"]
                                 % message["slot_count"])
                self.assertEqual(read(message), (
                    message["kind"], message["flags"], message["payload"]))
                message["position"] += message["slot_count"]
                self.assertIsNone(read(message))


if __name__ == "__main__":
    unittest.main()
