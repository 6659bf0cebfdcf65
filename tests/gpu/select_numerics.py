#!/usr/bin/env python3
"""Turns the records of record_numerics.cu into the small fixtures of tests/data/numerics/.

    python3 select_numerics.py RECORDED_FOLDER tests/data/numerics

mma.bin, approx.bin and convert.bin hold a few records of each section, in the same format. checksums.txt has, for what is
too large to keep, one line each: name, number of outputs, and FNV-1a (64 bits) over the outputs' words, little-endian.
"""
import math
import pathlib
import struct
import sys

HEADER = struct.Struct("<56sIIQ")
MODES = 14  # Ways to probe a tensor core, in turn.

# Which records of each mma section to keep: all ways to probe for the forms that kernels use, the most informative ones
# (wide spread, alignment, cancellation with and without C, cancelled C, infinities, random bits) for the others.
TELLING = [2, 3, 4, 5, 7, 10, 12]
FEWER = [3, 5, 10, 12]
MMA_RECORDS = {
    "mma.m16n8k32.e4m3.e4m3.f32": range(MODES),
    "mma.m16n8k16.f16.f16.f32": range(MODES),
    "mma.m16n8k32.e4m3.e4m3.f16": TELLING,
    "mma.m16n8k16.f16.f16.f16": TELLING,
    "mma.m16n8k16.bf16.bf16.f32": TELLING,
    "mma.m16n8k32.e5m2.e5m2.f32": TELLING,
    "mma.m16n8k32.s8.s8.s32": [0],
    "mma.m16n8k32.u8.s8.s32.satfinite": [0],
    "mma.m8n8k4.f64": [0, 1],
}
APPROX_RECORDS = 640
CONVERT_RECORDS = 240


def read_sections(path):
    data = path.read_bytes()
    at = 0
    sections = {}
    while at < len(data):
        name, words_in, words_out, records = HEADER.unpack_from(data, at)
        at += HEADER.size
        size = 4 * (words_in + words_out)
        sections[name.rstrip(b"\0").decode()] = (words_in, words_out, [data[at + i * size:at + (i + 1) * size] for i in range(records)])
        at += size * records
    return sections


def write_sections(path, sections):
    with path.open("wb") as file:
        for name, (words_in, words_out, records) in sections.items():
            file.write(HEADER.pack(name.encode(), words_in, words_out, len(records)))
            file.write(b"".join(records))


def fnv1a(words):
    value = 0xCBF29CE484222325
    for word in words:
        for byte in word.to_bytes(4, "little"):
            value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def f32_bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def swept(folder, name, exact, step):
    """Every step-th output of a sweep; None where the difference did not fit."""
    nibbles = (folder / f"sweep_{name}.bin").read_bytes()
    for i in range(0, 2 * len(nibbles), step):
        code = nibbles[i // 2] >> (i % 2 * 4) & 15
        x = struct.unpack("<f", struct.pack("<I", 0x3F800000 + i))[0]
        assert code != 0
        yield f32_bits(exact(x)) + code - 8


def spread(records, count):
    """Evenly chosen from the edge cases at the front and the random rest alike."""
    edges, rest = records[:3302], records[3302:]
    pick = lambda part, n: part[::max(1, -(-len(part) // n))]
    return pick(edges, 3 * count // 4) + pick(rest, count // 4)


def main(recorded, target):
    target.mkdir(parents=True, exist_ok=True)
    mma = {}
    for file in ("mma_fp8.bin", "mma_half.bin"):
        for name, (words_in, words_out, records) in read_sections(recorded / file).items():
            mma[name] = (words_in, words_out, [records[i] for i in MMA_RECORDS.get(name, FEWER)])
    write_sections(target / "mma.bin", mma)

    approx = read_sections(recorded / "approx.bin")
    words_in, words_out, records = approx["approx.f32.all"]
    write_sections(target / "approx.bin", {"approx.f32.all": (words_in, words_out, spread(records, APPROX_RECORDS))})

    convert = read_sections(recorded / "convert.bin")
    words_in, words_out, records = convert["from.f32"]
    kept = {"from.f32": (words_in, words_out, spread(records, CONVERT_RECORDS))}
    words_in, words_out, records = convert["from.f64"]
    kept["from.f64"] = (words_in, words_out, records[::len(records) // 100])
    write_sections(target / "convert.bin", kept)

    lines = []

    def checksum(name, words):
        words = list(words)
        lines.append(f"{name} {len(words)} {fnv1a(words):016x}\n")

    for section in ("from.16bits", "from.8bits"):
        words_in, words_out, records = convert[section]
        for column in range(words_out):
            checksum(f"{section}.{column}", (struct.unpack_from("<I", r, 4 * (words_in + column))[0] for r in records))
    checksum("sweep.ex2", swept(recorded, "ex2", lambda x: 2.0 ** x, 61))
    checksum("sweep.rcp", swept(recorded, "rcp", lambda x: 1 / x, 61))
    checksum("sweep.rsqrt", swept(recorded, "rsqrt", lambda x: 1 / math.sqrt(x), 61))
    for section, (words_in, words_out, records) in approx.items():
        if section != "approx.f32.all":  # Their inputs follow from a seed: record_numerics.cu, uniform_inputs.
            for column in range(words_out):
                checksum(f"{section}.{column}", (struct.unpack_from("<I", r, 4 * (words_in + column))[0] for r in records))
    (target / "checksums.txt").write_text("".join(lines))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
