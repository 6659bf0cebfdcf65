"""Writes one folder of first inputs for each fuzz target: SEEDS.py TEMPLATES OUT."""
import pathlib
import re
import struct
import sys

templates, out = map(pathlib.Path, sys.argv[1:])


def write(target, contents):
    folder = out / target
    folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(contents):
        (folder / f"seed{number}").write_bytes(content)


def cbor(value):
    """What RFC 8949 makes of numbers, texts, lists and maps: enough for a message."""
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
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(cbor, value))
    return head(5, len(value)) + b"".join(cbor(k) + cbor(v) for k, v in value.items())


families = sorted(templates.glob("*/*/family.json"))
texts = [path.read_text() for path in families]
expressions = set(re.findall(r'"(?:value|that|when)": "([^"]+)"', "".join(texts)))
write("expression", [e.encode() for e in sorted(expressions)])
sources = sorted(templates.glob("**/*.cu")) + sorted(templates.glob("**/*.cuh"))
write("template", [path.read_bytes() for path in sources])
parts = []
for path in families:
    task = path.parent.parent
    mutants = task / "mutants" / (path.parent.name + ".json")
    parts.append(b"\0".join([(task / "task.json").read_bytes(), path.read_bytes(),
                             mutants.read_bytes() if mutants.exists() else b""]))
write("task", parts)

plan = {"tensors": [{"name": "a", "dtype": 1, "bytes": 64, "output": True}], "workspaces": [], "maps": [],
        "launches": [{"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "cluster": [1, 1, 1], "smem": 0,
                      "programmatic": False, "arguments": [{"kind": 0, "index": 0, "value": 0}]}]}
recipe = {"seed": 1, "inputs": [{"name": "a", "dtype": 0, "elements": 64, "row": 8, "matrix": 64, "group": 64,
                                 "distribution": 0, "gain": 1.0, "stream": 7, "scale": None, "is_scale": False}]}
timing = {"cold": False, "min_samples": 5, "max_samples": 9, "max_seconds": 0.5, "relative_interval": 0.01}
messages = [
    {"id": 1, "kind": "compile", "body": {"source": "x", "arch": "sm_90a", "max_registers": 0}},
    {"id": 2, "kind": "unload", "body": {"module": 3}},
    {"id": 3, "kind": "run", "body": {"module": 3, "plan": plan, "recipe": recipe, "repeats": 1}},
    {"id": 4, "kind": "time", "body": {"module": 3, "plan": plan, "rotation": [recipe], "timing": timing,
                                       "afterwards": recipe, **timing}},
    {"id": 5, "kind": "ran", "body": {"unrepeatable": None}},
    {"id": 6, "kind": "broken", "body": {"message": "no"}},
    {"id": 0, "kind": "ready", "body": {"what": "cuda:0"}},
]
write("protocol", [cbor(message) for message in messages])
