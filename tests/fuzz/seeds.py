"""Writes one folder of first inputs for each fuzz target: SEEDS.py TEMPLATES OUT."""
import json
import pathlib
import re
import struct
import sys

import ptx_seeds

templates, out = map(pathlib.Path, sys.argv[1:])


def write(target, contents):
    folder = out / target
    folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(contents):
        (folder / f"seed{number}").write_bytes(content)


def cbor(value):
    """What RFC 8949 makes of numbers, texts, bytes, lists and maps: enough for a message."""
    def head(major, n):
        if n < 24:
            return bytes([major << 5 | n])
        return bytes([major << 5 | 25]) + struct.pack(">H", n)
    if isinstance(value, bool):
        return b"\xf5" if value else b"\xf4"
    if value is None:
        return b"\xf6"
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, float):
        return b"\xfb" + struct.pack(">d", value)
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(cbor, value))
    return head(5, len(value)) + b"".join(cbor(k) + cbor(v) for k, v in value.items())


# Small inputs are fast ones: every kind of thing once, no whole kernels.
families = sorted(templates.glob("*/*/family.json"))
expressions = set(re.findall(r'"(?:value|that|when)": "([^"]+)"', "".join(path.read_text() for path in families)))
write("expression", [e.encode() for e in sorted(expressions, key=len)[:200]])

write("template", [text.encode() for text in (
    "//% if n > 2 && x\na ${n + 1}\n//% elif n == 2\nb\n//% else\nc\n//% end\n",
    "//% for i in 0..n\n//%   for j in i..3\nf(${i}, ${j})${i + 1 < n ? ',' : ''}\n//%   end\n//% end\n",
    "//% let y = n * 2\n//% let z = x ? 'a' : 'b'\n${y} ${z} $ { } ${slot}\n//% # a comment\n",
    "//% include \"include/part.cuh\"\n//% include \"part.cuh\"\n",
    "//% slot slot\nint a = ${ceil_div(n, 2)};\n",
    "  //%if true\n\t//%end\n${'text'}${{}}$${n}\r\n",
)])

task = {"summary": "c = a", "shape_parameters": ["N", "D"], "specialised": ["D"], "options": {"mode": ["x", "y"]},
        "inputs": [{"name": "a", "dtype": "e4m3", "dims": ["N", "mode == 'x' ? D : 1"], "scale": "a_scale"},
                   {"name": "a_scale", "dtype": "f32", "dims": ["1"]}],
        "outputs": [{"name": "c", "dtype": "f32", "dims": ["N", "D"]}],
        "shapes": {"one": {"N": 5, "D": 64}, "two": {"N": 77, "D": 64}},
        "sets": {"vgpu": {"timed": ["one"], "validated": ["one", "two"]}}, "seeds": 2,
        "regimes": {"normal": {"distribution": "normal"}, "spikes": {"distribution": "spikes", "gain": 4, "tensors": ["a"]}},
        "limits": {"relative_l2": 0.01, "cosine": 0.99}, "objectives": {"latency": {}, "exact": {"limits": {"max_abs": 1}}},
        "floor": {"flops": "N * D", "bytes": "4 * N", "math": "f32"},
        "reference": {"kernel": "r", "grid": ["N", "1", "1"], "block": ["D", "1", "1"], "arguments": ["a", "c", "N"]}}
family = {"summary": "f", "requires": "sm >= 80",
          "genes": [{"name": "t", "values": [32, 64, 128]}, {"name": "u", "values": [1, 2], "when": "t > 32", "doc": "d"},
                    {"name": "b", "values": [False, True]}, {"name": "s", "slot": True}, {"name": "m", "values": ["p", "q"]}],
          "derived": [{"name": "tile", "value": "t * max(u, 1)"}, {"name": "smem", "value": "b ? 8 * tile : 0"}],
          "constraints": [{"that": "tile <= 128 || m == 'p'", "why": "w"}, {"that": "smem <= smem_per_block", "why": "w"}],
          "max_registers": "t == 64 ? 128 : 0",
          "workspaces": [{"name": "w", "bytes": "4 * N", "when": "b"}],
          "tensor_maps": [{"name": "map", "source": "c", "dtype": "f32", "dims": ["D", "N", "1"],
                           "strides_bytes": ["4 * D", "4 * N * D"], "box": ["16", "8", "1"], "swizzle_bytes": "64"}],
          "launches": [{"kernel": "k", "grid": ["ceil_div(N, tile)", "1", "1"], "block": ["t", "1", "1"],
                        "cluster": ["1", "1", "1"], "dynamic_smem": "smem", "programmatic": "b",
                        "arguments": ["a", "map", "c", "w", "N"]}]}
mutants = {"base": {"t": 32, "b": False}, "controls": [{"name": "h", "about": "as it is"}],
           "mutants": [{"name": "m", "about": "x", "genes": {"u": 2}, "says": "L2", "expect": {"cuda": ["wrong_answer"]},
                        "edits": [{"file": "kernel.cu", "find": "slot", "replace": "slot"}]}]}
folders = [json.dumps(part).encode() for part in (task, family, mutants)]
write("task", [b"\0".join(folders), b"\0".join(folders[:2]), folders[0]])

plan = {"tensors": [{"name": "a", "dtype": "f32", "bytes": 64, "output": True, "inout": False, "dims": [], "strides": []}],
        "workspaces": [], "tensor_maps": [], "constants": [],
        "launches": [{"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "cluster": [1, 1, 1], "dynamic_smem_bytes": 0,
                      "programmatic": False, "arguments": [{"kind": "tensor", "index": 0, "fields": []}]}]}
kernel = {"registers": 8, "spill_bytes": 0, "stack_bytes": 0, "static_smem_bytes": 0, "launched": True, "warning": ""}
build = {"specialisation": "", "arch": "sm_90a", "cubin_hash": "", "compile_ms": 1.5, "flags": "", "log": "",
         "kernels": {"k": kernel}, "kernel_names": {"k": "k"}, "variables": {}}
binary = {"arch": "sm_90a", "build": build}
recipe = {"seed": 1, "repeating": False, "perturbed": False,
          "inputs": [{"name": "a", "dtype": "f32", "elements": 64, "row": 8, "matrix": 64, "group": 64,
                      "distribution": "normal", "gain": 1.0, "stream": 7, "scale": None, "zero_point": None,
                      "is_computed": False, "widened": None, "draw": "automatic", "numbers": [{"bits": 7}, 3],
                      "content": "", "dims": [], "scale_dims": [], "strides": [], "unit_scale": False}]}
timing = {"cold": False, "min_samples": 5, "max_samples": 9, "min_seconds": 0.05, "full_clock_seconds": 0.01,
          "max_seconds": 0.5, "warm_up_seconds": 0.01, "relative_interval": 0.01, "hopeless_us": 0.0, "to_beat_us": 0.0}
failure = {"verdict": "crashed", "reason": "r", "device_lost": False, "log": "", "mismatch": None}
messages = [
    {"id": 1, "kind": "compile", "body": {"source": "x", "arch": "sm_90a", "max_registers": 0, "kernels": ["k"], "variables": []}},
    {"id": 7, "kind": "load", "cubin_bytes": 0, "body": {"module": 3, "binary": binary, "plans": {"small": plan}}},
    {"id": 2, "kind": "unload", "body": {"module": 3}},
    {"id": 3, "kind": "run", "body": {"module": 3, "shape": "small", "recipe": recipe, "repeats": 1, "sanitised": False,
                                      "case_name": "c"}},
    {"id": 4, "kind": "time", "body": {"module": 3, "shape": "small", "rotation": [recipe], "timing": timing,
                                       "answered": True, "afterwards": recipe}},
    {"id": 5, "kind": "ran", "body": {"unrepeatable": failure}},
    {"id": 6, "kind": "broken", "body": {"message": "no"}},
    {"id": 0, "kind": "ready", "body": {"what": "cuda:0", "at_once": 1}},
]
write("protocol", [cbor(message) for message in messages])

write("ptx", [kernel.encode() for kernel in ptx_seeds.kernels()])
(out / "ptx.dict").write_text(ptx_seeds.dictionary())
