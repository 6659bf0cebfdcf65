"""Writes one folder of first inputs for each fuzz target: seeds.py EVO SOURCE OUT."""
import gzip
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import ptx_seeds

evo, source, out = (pathlib.Path(word).resolve() for word in sys.argv[1:])
templates, data = source / "templates", source / "tests/data"


def write(target, contents):
    folder = out / target
    shutil.rmtree(folder, ignore_errors=True)
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


def texts(*patterns, most=1 << 16):
    """The files of tests/data, the small ones: a mutation of a large one says little."""
    return [path.read_bytes() for pattern in patterns for path in sorted(data.glob(pattern)) if path.stat().st_size <= most]


def found_by_evo():
    """A small search, as a database, an exported file and results for other tools."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(data / "tasks/toy", f"{folder}/templates/toy")
        environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "EVO_TEMPLATES": "templates", "EVO_CHECK_TIME": "20m"}
        for words in ("run --task toy --device vgpu --evals 3 --seed 1 --quiet", "export -o best.cu", "export --format csv -o csv",
                      "export --format kerneltuner -o kerneltuner", "export --format t4 -o t4", "db compact"):
            subprocess.run([evo, *words.split()], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
        return [pathlib.Path(folder, name).read_bytes() for name in ("runs/evo.db", "best.cu", "csv", "kerneltuner", "t4")]


database, exported, csv, kerneltuner, t4 = found_by_evo()
write("database", [database])
write("exported", [exported])
write("results", [kerneltuner, t4])
write("recording", [kerneltuner, t4, csv, *texts("replay/*.csv", most=1 << 18)])
write("sweep", [kerneltuner])
write("gzip", [gzip.compress(kerneltuner, mtime=0)])
write("orders", texts("replay/*.jsonl"))
write("short_form", [path.read_bytes() + b"\0" + path.with_suffix(".cu").read_bytes() for path in sorted((data / "tune").glob("*.json"))
                     if path.with_suffix(".cu").exists()])
write("task", [b"\0".join(folders), b"\0".join(folders[:2]), folders[0],
               *(b"\0".join([task.read_bytes(), family.read_bytes()]) for task in sorted(data.glob("tasks/*/task.json"))
                 for family in sorted(task.parent.glob("*/family.json")))])

t1 = {"General": {"FormatVersion": 1},
      "ConfigurationSpace": {"TuningParameters": [{"Name": "block_size_x", "Type": "int", "Values": "[32, 64] + list(range(96, 257, 32))", "Default": 32},
                                                  {"Name": "tile", "Type": "int", "Values": "[2**i for i in range(0, 4) if i != 3]"},
                                                  {"Name": "cached", "Type": "bool", "Values": "[True, False]"}],
                             "Conditions": [{"Parameters": ["block_size_x", "tile"], "Expression": "32 <= block_size_x * tile <= 256 and not (tile in [3, 5])"}]},
      "KernelSpecification": {"Language": "CUDA", "KernelName": "axpy", "KernelFile": "axpy.cu", "BenchmarkName": "axpy", "GlobalSizeType": "CUDA",
                              "CompilerOptions": ["-std=c++17"], "ProblemSize": {"X": 1000}, "LocalSize": {"X": "block_size_x"},
                              "GlobalSize": {"X": "1000 / (block_size_x * tile)"},
                              "Arguments": [{"Name": "N", "Type": "uint64", "MemoryType": "Scalar", "FillValue": 1000},
                                            {"Name": "y", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadWrite", "FillType": "Random", "Size": 1000}]}}
write("t1", [json.dumps(t1).encode(), json.dumps(t1, indent=1).encode()])
write("t1_values", [parameter["Values"].encode() for parameter in t1["ConfigurationSpace"]["TuningParameters"]])
definition = {"name": "scaled_sum_n64", "op_type": "misc", "description": "c = A + factor B",
              "axes": {"M": {"type": "var"}, "N": {"type": "const", "value": 64}},
              "inputs": {"A": {"shape": ["M", "N"], "dtype": "float32"}, "factor": {"shape": None, "dtype": "float32"}},
              "outputs": {"C": {"shape": ["M", "N"], "dtype": "float32"}}, "reference": "import torch\n\ndef run(A, factor):\n    return A + factor\n"}
write("definition", [json.dumps(definition).encode()])
array = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".ljust(117) + b"\n"
write("numpy", [b"\x93NUMPY\x01\0" + struct.pack("<H", len(array)) + array + struct.pack("<6f", *range(6))])
write("answer", [b'<think>no</think> Here:\n```json\n{"proposals": [{"genes": {"block": 64}, "note": "n", "files": {"kernel.cu": "x"}}]}\n```\n'])
change = {"genome": {"like": 1, "genes": {"block": 64}}, "note": "n", "parents": [1], "exchange": 3}
allele = {"genome": {"family": "f", "genes": {"block": 32, "body": "two"}}, "slot": {"family": "f", "gene": "body", "allele": "two", "text": "y[0] = 1;"}}
patch = {"genome": {"family": "f", "genes": {"block": 32, "body": "one"}}, "patch": [{"file": "kernel.cu", "find": "int n", "replace": "int m"}]}
whole = {"source": "extern \"C\" __global__ void k(float* y) {}", "plan": {"launches": [
    {"kernel": "k", "grid": ["N", "1", "1"], "block": ["32", "1", "1"], "dynamic_smem": "0", "arguments": ["y"]}], "workspaces": []}}
exchange = {"id": 3, "model": "m", "prompt": "p", "answer": "a", "prompt_tokens": 10, "answer_tokens": 5, "cost": 0.01, "seconds": 1.5}
write("proposals", [json.dumps({"proposals": [one], **more}).encode() for one, more in (
    (change, {"exchanges": [exchange]}), (allele, {}), (patch, {"done": False}), (whole, {"done": True}))])
write("rival_answer", [b'{"rivals": [{"name": "cuDNN", "version": "9.1", "note": "n"}, {"name": "b"}]}', b'{"rivals": [], "why": "no GPU"}',
                       b'{"us": 10.25}', b'{"error": "it cannot do this"}', b'{}'])
completion = {"id": "1", "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "{\"proposals\": []}"}}],
              "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}}
write("completion", [json.dumps(completion).encode(), b'{"error": {"message": "no such model", "code": 404}}', b'<html>Bad Gateway</html>'])
write("reference_answer", [b'{"torch": "2.11.0"}', b'{"missing": "ImportError: no torch"}', b'{"error": "NameError: x"}', b'{}'])
described = {"kind": "KernelBench", "inputs": [
                 {"name": "A_", "dtype": "f32", "dims": [96, 96], "promises": ["upper triangular"], "structure": True},
                 {"name": "x", "dtype": "f32", "dims": [96, 224], "promises": ["of numbers from 0 to 1"], "structure": False, "promised_draw": "uniform(0, 1)"},
                 {"name": "labels", "dtype": "s64", "dims": [96], "draw": "integers(0, B - 1)"}, {"name": "gain", "dtype": "f32", "dims": ["1"]}],
             "outputs": [{"name": "y", "dtype": "f32", "dims": [96, "112"]}], "parameters": {"A": 96, "B": 224}, "small": {"A": 16, "B": 24},
             "reference": "\n\ndef reference(x, **_):\n    return x\n", "torch": "2.11.0"}
write("problem", [json.dumps(described).encode(), json.dumps(described | {"small": None}).encode()])
write("profile", [json.dumps({"shape": "small", "modelled": modelled, "launches": [
    {"kernel": "k", "values": {"gpu__time_duration.sum": 1.5e3, "sm__throughput.avg.pct_of_peak_sustained_elapsed": 61.5}}, {"kernel": "l", "values": {}}]}).encode()
    for modelled in (False, True)])
write("genome", [b'{"family": "plain", "genes": {"block": 64, "cached": true, "way": "rows"}}', b'{"block": 64}'])
write("modelled", [b'sweep,genome,modelled_us,traits\n"s, t","f: a=1 b=2",1.5,0.5 1 2\ns,"f: a=2",0,\n'])
write("http", [b"GET /0123/data?x HTTP/1.1\r\nHost: localhost:80\r\nAccept: */*", b"POST / HTTP/1.0"])
write("hosts", [b"# hosts\nssh node7\nsrun -N1 -n1 'x y'\n"])
write("rivals", [b'{"name": "cuDNN", "shape": "small", "us": 10.8, "error": 0.035}\n{"name": "b", "shape": "long", "us": 1e3, "error": 0}\n'])
devices = [{"kind": "cuda", "id": "cuda:0", "name": "NVIDIA H200", "uuid": "GPU-1", "arch": "sm_90a", "sm": 90, "sm_count": 132}]
write("devices", [json.dumps(devices).encode()])
write("argument", [b"float4:1,2,3,4", b"{int:3;double:0.5}", b"bytes:0a0b", b"x=float[1024]:normal(0,1)", b"int[64,64]:iota(1,2)", b"y=half[8]:{1,2,3}",
                   b"null", b"t=int[9]:page_table(4)"])
write("symbol", [b"scale=float:0.5", b"table=float[25]:iota", b"ns::t=int[4,4]:{1,2}"])
write("passed", [path.read_bytes() for path in sorted(templates.glob("*/mutants/passed/*.json"))[:4]] or [b'{"task_hash": "0"}'])
header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 190, 1, 0, 0, 64, 0, 64, 0, 0, 64, 3, 1)
names = b"\0.text.k\0.shstrtab\0"
sections = [(0, 0, 0, 0, 0), (1, 1, 6, 256, 64), (9, 3, 0, 320, len(names))]
table = b"".join(struct.pack("<IIQQQQIIQQ", name, kind, flags, 0, at, size, 0, 0, 1, 0) for name, kind, flags, at, size in sections)
write("cubin", [(header + table).ljust(256, b"\0") + bytes(range(64)) + names])
log = b"ptxas info    : Compiling entry function 'k' for 'sm_90a'\nptxas info    : Function properties for k\n" \
      b"    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\nptxas info    : Used 32 registers, 1 barriers, 48 bytes smem\n" \
      b"kernel.cu(12): error: identifier \"x\" is undefined\n"
write("compiler_text", [log, *(kernel.encode() for kernel in ptx_seeds.kernels()[:8])])
