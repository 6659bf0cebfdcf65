#!/usr/bin/env python3
"""Turns the records of record_conformance.cpp into the small fixtures of tests/data/numerics/.

    python3 select_conformance.py RECORDED_FOLDER tests/data/numerics

The files of KEEP, little-endian; for each case
  uint64 FNV-1a over the name, uint8 bits of an output, uint32 outputs, uint64 FNV-1a over the outputs' bytes,
  uint32 step, uint16 number of outputs kept, every step-th output.
"""
import pathlib
import struct
import sys

KEEP = {"forms.bin": 12, "listed.bin": 3, "matrices.bin": 16, "warps.bin": 8, "tensors.bin": 8,
        "products.bin": 48, "layouts.bin": 8}


def read_cases(path):
    data = path.read_bytes()
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<H", data, at)
        name = data[at + 2:at + 2 + length]
        bits, outputs = struct.unpack_from("<HI", data, at + 2 + length)
        at += 8 + length
        yield name, bits, data[at:at + outputs * bits // 8]
        at += outputs * bits // 8


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def main(recorded, target):
    for file, keep in KEEP.items():
        with (target / file).open("wb") as out:
            for name, bits, data in read_cases(recorded / file):
                size = bits // 8
                outputs = len(data) // size
                # An odd step visits all lanes, registers and tuples.
                step = max(1, outputs // keep) | 1
                kept = [data[i * size:(i + 1) * size] for i in range(0, outputs, step)]
                out.write(struct.pack("<QBIQIH", fnv1a(name), bits, outputs, fnv1a(data), step, len(kept)) + b"".join(kept))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
