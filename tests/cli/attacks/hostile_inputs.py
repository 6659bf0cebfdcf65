#!/usr/bin/env python3
"""Generated hostile inputs for all commands: hostile_inputs.py EVO SOURCE [--inputs N] [--seed S] [--only I] [--part K/N] [--jobs J]

Each input is a command with files that are sound but for one to four changes. It is drawn from the seed and its own
number, so `--only I` gives it again; its folder is then kept and named. A command must end by itself, in 30 s of CPU time
and 2 GB, with an exit code of `evo --help` that fits (3 is no answer to a file that was named), with one line of reason
where it fails, without a half-written file, and without anything in its output that drives a terminal.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading

CPU_SECONDS = 30
MOST_BYTES = 2 << 30
# What hangs without computing; long, for a busy machine.
HANG_SECONDS = 600
BEFORE = b"what stood here before\n"

options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument("evo", type=pathlib.Path)
options.add_argument("source", type=pathlib.Path, help="the folder of the sources, for tests/data")
options.add_argument("--inputs", type=int, default=1000)
options.add_argument("--seed", type=int, default=1)
options.add_argument("--only", type=int)
options.add_argument("--part", default="0/1", help="K/N: only every N-th input, from the K-th on")
options.add_argument("--jobs", type=int, default=os.cpu_count())
chosen = options.parse_args()
EVO, DATA = chosen.evo.resolve(), chosen.source.resolve() / "tests/data"

# ---- Changes of bytes

TOKENS = [b"\x1b[2J", b"\x1b]0;t\x07", b"\x9b31m", b"\xc2\x9b5m", b"\0", b"\xff\xfe", b"\r", b"\n", b"\"", b"'", b"\\", b"{", b"}",
          b"[", b"]", b"(", b")", b"../../../etc/passwd", b"/etc/passwd", b"/dev/zero", b"/dev/stdin", b"%n%s", b"$(id)", b"`id`",
          b"; id #", b"\xe2\x80\xae", b"//% include \"../../x\"\n", b"//% for i in 0..999999999\n", b"//% end\n",
          b"#include \"/etc/passwd\"\n", b"#include \"a.cu\"\n", b"[" * 20000, b"(" * 20000, b"{\"a\":" * 20000, b"-" * 20000,
          b"x" * 70000, b"NaN", b"-Infinity", b"1e999", b"null", b"true", b",", b":", b"\xef\xbb\xbf"]
NUMBERS = [b"0", b"-1", b"2147483648", b"4294967296", b"9223372036854775807", b"-9223372036854775808", b"18446744073709551616",
           b"1e308", b"1e-320", b"0.1", b"1000000", b"65536", b"1e3"]


def changed_bytes(rng, data, donor):
    at = rng.randrange(len(data) + 1)
    to = min(len(data), at + rng.choice([1, 2, 8, 64, 1024]))
    numbers = list(re.finditer(rb"\d+(\.\d+)?", data))
    kind = rng.randrange(8)
    if kind == 0 and at < len(data):
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1:]
    if kind == 1:
        return data[:at] + data[to:]
    if kind == 2:
        return data[:at] + data[at:to] * rng.choice([2, 3, 50]) + data[to:]
    if kind == 3:
        return data[:at]
    if kind == 4:
        begin = rng.randrange(len(donor) + 1)
        return data[:at] + donor[begin:begin + rng.choice([4, 40, 400])] + data[to:]
    if kind <= 6 and numbers:
        number = rng.choice(numbers)
        return data[:number.start()] + rng.choice(NUMBERS) + data[number.end():]
    return data[:at] + rng.choice(TOKENS) + data[at:]


# ---- Changes of what JSON means

VALUES = [None, True, False, 0, -1, 1, 2**31, 2**53, 2**63 - 1, -2**63, 1e308, 0.5, "", "x", "\x1b[2J\x07", "\u009b5m", "\0", "a" * 70000,
          "N", "-N", "N / 0", "N * 9223372036854775807", "(" * 5000, "../../x", "/etc/passwd", [], {}, [[]], [None], {"": {}},
          [1] * 5000, "float[N]", "float[9223372036854775807]", "out float[-1]", "e4m3[N]", "x=float[N]:normal(0,1e999)", "1 << 63"]


def places(value, found):
    """Every container with a key of it."""
    for key in (list(value) if isinstance(value, dict) else range(len(value))) if isinstance(value, (dict, list)) else ():
        found.append((value, key))
        places(value[key], found)
    return found


def changed_json(rng, data, donor):
    try:
        value = json.loads(data)
        others = places(json.loads(donor), [])
    except (ValueError, RecursionError):
        return changed_bytes(rng, data, donor)
    found = places(value, [])
    if not found:
        return changed_bytes(rng, data, donor)
    holder, key = rng.choice(found)
    kind = rng.randrange(6)
    if kind == 0:
        del holder[key]
    elif kind == 1 and others:
        other, other_key = rng.choice(others)
        holder[key] = other[other_key]
    elif kind == 2 and isinstance(holder, dict):
        holder[rng.choice(["x", "", "\x1b[2J", key + "x", "N", "*", "a" * 3000])] = holder[key]
    elif kind == 3:
        nested = holder[key]
        for _ in range(rng.choice([1, 200])):
            nested = [nested] if rng.random() < .5 else {"a": nested}
        holder[key] = nested
    else:
        holder[key] = rng.choice(VALUES)
    return json.dumps(value, ensure_ascii=rng.random() < .5).encode("utf-8", "surrogatepass")


# ---- Changes of a database's rows

CELLS = [None, 0, -1, 1, 2**63 - 1, -2**63, 1e308, -1e308, .5, "", "x", "\x1b[2J\x07", "\u009b5m", "{}", "[]", "null", "[" * 5000, b"\0\xff",
         b"", "a" * 70000, "9" * 400, "../../x"]


def changed_rows(rng, path):
    database = sqlite3.connect(path)
    database.text_factory = bytes
    database.execute("PRAGMA foreign_keys = OFF")
    tables = [name.decode() for name, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")]
    for _ in range(rng.choice([1, 1, 3])):
        table = rng.choice(tables)
        column = rng.choice([row[1].decode() for row in database.execute(f"PRAGMA table_info({table})")])
        rows = [row for row, in database.execute(f"SELECT rowid FROM {table}")] if "WITHOUT ROWID" not in database.execute(
            "SELECT sql FROM sqlite_master WHERE name = ?", [table]).fetchone()[0].decode() else []
        where = f" WHERE rowid = {rng.choice(rows)}" if rows and rng.random() < .8 else ""
        try:
            if rng.random() < .15:
                database.execute(f"DELETE FROM {table}{where}")
            elif rng.random() < .5:
                old = database.execute(f"SELECT {column} FROM {table}{where} LIMIT 1").fetchone()
                if old and isinstance(old[0], bytes):
                    new = (changed_json if old[0][:1] in (b"{", b"[") else changed_bytes)(rng, old[0], old[0])
                    database.execute(f"UPDATE {table} SET {column} = CAST(? AS TEXT){where}", [new])
            else:
                database.execute(f"UPDATE {table} SET {column} = ?{where}", [rng.choice(CELLS)])
        except sqlite3.IntegrityError:
            pass
    if rng.random() < .05:
        database.execute(rng.choice(["CREATE VIEW x AS SELECT 1", "DROP TABLE timing", "CREATE TABLE y (z)",
                                     "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END", "PRAGMA user_version = 99"]))
    database.commit()
    database.close()


# ---- The sound files and the commands that read them

PTX = b""".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p0, .param .u32 p1) .maxntid 64 {
.reg .b32 r<9>; .reg .b64 d<9>; .reg .pred p0x; .reg .f32 f<9>;
.shared .align 8 .b8 s[256];
ld.param.u64 d0,[p0]; ld.param.u32 r0,[p1];
mov.u32 r1,%tid.x; setp.ge.u32 p0x,r1,r0; @p0x bra E;
mad.wide.u32 d1,r1,4,d0; ld.global.f32 f0,[d1]; fma.rn.f32 f0,f0,0f40000000,f0;
st.shared.f32 [s],f0; bar.sync 0; st.global.f32 [d1],f0;
E: ret;
}
"""
DEFINITION = {"name": "scaled_sum_n64", "op_type": "misc", "description": "c = A + factor B",
              "axes": {"M": {"type": "var"}, "N": {"type": "const", "value": 64}},
              "inputs": {"A": {"shape": ["M", "N"], "dtype": "float32"}, "factor": {"shape": None, "dtype": "float32"}},
              "outputs": {"C": {"shape": ["M", "N"], "dtype": "float32"}}, "reference": "import torch\n\ndef run(A, factor):\n    return A + factor\n"}
T1 = {"General": {"FormatVersion": 1}, "ConfigurationSpace": {"TuningParameters": [
          {"Name": "block_size_x", "Type": "int", "Values": "[32, 64]", "Default": 32}, {"Name": "tile", "Type": "int", "Values": "[1, 2]"}],
          "Conditions": [{"Parameters": ["block_size_x", "tile"], "Expression": "block_size_x * tile <= 64"}]},
      "KernelSpecification": {"Language": "CUDA", "KernelName": "axpy", "KernelFile": "axpy.cu", "BenchmarkName": "axpy",
          "GlobalSizeType": "CUDA", "ProblemSize": {"X": 1000}, "LocalSize": {"X": "block_size_x"}, "GlobalSize": {"X": "1000 / (block_size_x * tile)"},
          "Arguments": [{"Name": "N", "Type": "uint64", "MemoryType": "Scalar", "FillValue": 1000},
                        {"Name": "y", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadWrite", "FillType": "Random", "Size": 1000}]}}
RIVALS = b'{"name": "cuDNN", "shape": "small", "us": 10.8, "error": 0.035}\n'
PROPOSAL = b'echo \'{"proposals": [{"genes": {"block": 64, "items": 2}, "note": "n"}]}\'\n'


def npy(values):
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(values)}f", *values)


def run(arguments, folder, **more):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EVO_") and name not in ("TERM", "NO_COLOR")}
    environment |= {"CUDA_VISIBLE_DEVICES": "", "EVO_TEMPLATES": "templates", "EVO_CHECK_TIME": "20m", "HOME": str(folder)}
    return subprocess.Popen([EVO, *arguments], cwd=folder, env=environment, stdin=subprocess.DEVNULL, start_new_session=True, **more)


def prepare(folder):
    """The sound files: name to bytes."""
    shutil.copytree(DATA / "tasks/toy", folder / "templates/toy")
    steps = [["run", "--task", "toy", "--device", "vgpu", "--evals", "5", "--seed", "1", "--quiet"], ["export", "-o", "best.cu"]]
    steps += [["export", "--format", form, "-o", form] for form in ("csv", "kerneltuner", "t4")]
    for arguments in steps:
        process = run(arguments, folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        out, _ = process.communicate()
        if process.returncode != 0:
            sys.exit(f"evo {' '.join(arguments)}: {process.returncode}\n{out.decode(errors='replace')}")
    sound = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    sound = {name: data for name, data in sound.items() if not name.endswith(("-wal", "-shm"))}
    for name in ("axpy.cu", "axpy.json", "argmax.cu", "argmax.json"):
        sound[name] = (DATA / "tune" / name).read_bytes()
    sweep = DATA / "sweeps/fp8_sdpa_mma_sync_1_8_512_64_h200.json.gz"
    return sound | {"k.ptx": PTX, "definition.json": json.dumps(DEFINITION).encode(), "t1.json": json.dumps(T1).encode(), "rivals.jsonl": RIVALS,
                    "y.npy": npy([1.0] * 64), "sweep.json.gz": sweep.read_bytes(), "propose.sh": PROPOSAL,
                    "orders.jsonl": (DATA / "replay/orders.jsonl").read_bytes()[:3000], "space.csv": (DATA / "replay/synthetic.csv").read_bytes(),
                    "genome.json": b'{"family": "plain", "block": 64, "items": 2}', "hosts": b"# hosts\nfalse\n"}


TOY = ["templates/toy/task.json", "templates/toy/plain/family.json", "templates/toy/plain/kernel.cu", "templates/toy/reference.cu"]
SEARCH = ["--device", "vgpu", "--evals", "2", "--seed", "1", "--quiet", "--time", "20s"]
DB = "runs/evo.db"
LAUNCH = ["--grid", "1", "--block", "32", "--arg", "x=float[64]:normal", "--arg", "int:32"]
# What is read: the files that change, and the commands that read them with what they write. A database's rows may make
# a command end with 3, a file that was named may not.
READERS = [
    (3, ["axpy.json"], [["tune", "axpy.json", *SEARCH], ["check", "axpy.json"], ["space", "axpy.json"], ["selftest", "axpy.json", "--device", "vgpu", "--generate", "2"],
                        ["tune", "axpy.json", "--expand", "new"], ["attack", "axpy.json", "--tries", "2"]], []),
    (1, ["axpy.cu"], [["tune", "axpy.json", *SEARCH], ["check", "axpy.json"]], []),
    (2, ["t1.json"], [["tune", "t1.json", *SEARCH], ["check", "t1.json"], ["tune", "t1.json", "--expand", "new"]], []),
    (3, TOY, [["run", "--task", "toy", *SEARCH], ["check", "toy"], ["tasks"], ["space", "toy"], ["llm", "--dry-run", "--task", "toy", "--device", "vgpu"],
              ["selftest", "--task", "toy", "--device", "vgpu", "--generate", "2"], ["verify", "best.cu"]], []),
    (6, [DB], [["runs"], ["runs", "1"], ["elites"], ["show", "2"], ["show", "1", "--json"], ["report"], ["report", "-o", "page.html"], ["report", "-o", "page.json"],
               ["lineage", "2"], ["front", "--task", "toy", "--svg", "front.svg"], ["diff", "1", "2"], ["export", "-o", "out.cu"], ["export", "--format", "csv", "-o", "out.csv"],
               ["export", "--format", "torch", "-o", "package"], ["verify", "1"], ["db", "check"], ["db", "check", "--repair"], ["db", "compact"], ["db", "merge", "--db", "mine.db", DB],
               ["results", "-o", "pages"], ["note", "1", "a note"], ["compare", "1", "2"], ["model", "1"], ["sanitize", "1"], ["diagnose", "1"], ["attack", "1", "--tries", "2"], ["profile", "1"],
               ["baseline", "--list"], ["run", "--resume", "1", "--evals", "6", "--quiet"], ["llm", "--dry-run", "--task", "toy", "--device", "vgpu"],
               ["replay", DB], ["run", "--task", "toy", *SEARCH, "--seed-from", DB]], ["page.html", "page.json", "front.svg", "out.cu", "out.csv"]),
    (2, ["best.cu"], [["verify", "best.cu"], ["verify", "best.cu", "--kernels-only"], ["sanitize", "best.cu", *LAUNCH], ["diagnose", "best.cu"], ["attack", "best.cu", "--tries", "2"],
                      ["profile", "best.cu"]], []),
    (2, ["csv", "kerneltuner", "t4", "space.csv"], [["import", "{}"], ["replay", "{}", "--runs", "1", "--evals", "5"], ["replay", "{}", "--runs", "1", "--evals", "5", "--svg", "curves.svg", "--out", "visits.jsonl"]],
     ["curves.svg", "visits.jsonl"]),
    (1, ["sweep.json.gz"], [["replay", "sweep.json.gz", "--runs", "1", "--evals", "5"], ["model", "--against", "sweep.json.gz", "--limit", "1"], ["import", "sweep.json.gz"]], []),
    (1, ["orders.jsonl"], [["replay", "space.csv", "--strategy", "none", "--with", "orders.jsonl"]], []),
    (2, ["k.ptx"], [["vgpu", "k.ptx", *LAUNCH, "--max-instructions", "100000"], ["sanitize", "k.ptx", *LAUNCH], ["vgpu", "k.ptx", *LAUNCH, "--out", "x=out.npy"]], ["out.npy"]),
    (1, ["argmax.cu"], [["vgpu", "argmax.cu", *LAUNCH, "--max-instructions", "100000"], ["sanitize", "argmax.cu", *LAUNCH]], []),
    (1, ["y.npy"], [["vgpu", "k.ptx", "--block", "32", "--arg", "x=float[]:@y.npy", "--arg", "int:32"]], []),
    (1, ["definition.json"], [["import", "definition.json"]], []),
    (1, ["rivals.jsonl"], [["front", "--task", "toy", "--rivals", "rivals.jsonl"], ["report", "-o", "page.html", "--rivals", "rivals.jsonl"]], ["page.html"]),
    (1, ["propose.sh"], [["run", "--task", "toy", *SEARCH, "--proposer", "cat propose.sh", "--proposer-deadline", "1s"]], []),
    (1, ["genome.json"], [["model", "--genome", "genome.json", "--task", "toy", "--shapes", "small"]], []),
]
# Commands that read no file get hostile words.
WORDS = [["run", "--task", "{}", "--device", "vgpu"], ["run", "--task", "toy", "--shapes", "{}", *SEARCH], ["run", "--task", "toy", "--option", "{}", *SEARCH],
         ["tasks", "{}"], ["show", "{}"], ["runs", "{}"], ["export", "{}"], ["export", "--name", "{}"], ["vgpu", "k.ptx", "--arg", "{}"], ["vgpu", "k.ptx", "--symbol", "{}"],
         ["vgpu", "k.ptx", "--kernel", "{}"], ["vgpu", "k.ptx", "--grid", "{}"], ["completions", "{}"], ["man", "{}"], ["complete", "evo", "run", "{}"], ["doctor", "{}"],
         ["bench", "--expect", "{}"], ["watch", "--port", "{}"], ["{}"], ["db", "{}"], ["elites", "--db", "{}"], ["run", "--task", "toy", "--hosts", "hosts", "--device", "{}"],
         ["results", "-o", "pages", "--device", "{}"], ["front", "--task", "{}"], ["run", "--task", "toy", "--until", "{}", *SEARCH], ["model", "--genome", "{}", "--task", "toy"],
         ["note", "1", "{}"], ["import", "{}"], ["verify", "{}"], ["tune", "{}"], ["baseline", "--rival", "{}", "--list"], ["llm", "--task", "{}", "--dry-run"]]


class Case:
    def __init__(self, number, sound):
        rng = self.rng = random.Random(f"{chosen.seed}/{number}")
        self.number, self.files, self.named, self.outputs = number, {}, False, []
        if rng.random() < .12:
            word = rng.choice(TOKENS + NUMBERS + [b"1,2", b"a=b", b"x=float[9223372036854775807]", b"x=float[-1]:normal", b"0", b"/dev/full", b"/proc/self/mem", b"."])
            word = word[:30000].replace(b"\0", b"")
            self.arguments = [a.encode().replace(b"{}", word) for a in rng.choice(WORDS)]
            return
        _, names, commands, self.outputs = rng.choices(READERS, [reader[0] for reader in READERS])[0]
        name = rng.choice(names)
        self.arguments = [a.replace("{}", name).encode() for a in rng.choice(commands)]
        self.rows = name == DB and rng.random() < .8
        self.named = name != DB
        if self.rows:
            return
        data = sound[name]
        change = changed_json if name.endswith((".json", "kerneltuner", "t4")) and rng.random() < .7 else changed_bytes
        for _ in range(rng.choice([1, 1, 2, 4])):
            data = change(rng, data, sound[rng.choice(list(sound))])
        self.files[name] = data

    def write(self, folder, sound):
        for name, data in (sound | self.files).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        for name in self.outputs:
            (folder / name).write_bytes(BEFORE)
        if getattr(self, "rows", False):
            changed_rows(self.rng, folder / DB)

    def faults(self, folder):
        def limits():
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err:
            process = run(self.arguments, folder, stdout=out, stderr=err, preexec_fn=limits)
            timer = threading.Timer(HANG_SECONDS, lambda: os.killpg(process.pid, signal.SIGKILL))
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
        process.returncode = 0
        self.seconds = usage.ru_utime + usage.ru_stime
        out, err = ((folder / name).read_bytes() for name in ("stdout", "stderr"))
        if os.WIFSIGNALED(status):
            return [f"signal {signal.Signals(os.WTERMSIG(status)).name}"]
        found, code = [], os.WEXITSTATUS(status)
        self.code = code
        if self.seconds > CPU_SECONDS:
            found.append(f"{self.seconds:.0f} s of CPU time")
        if usage.ru_maxrss * 1024 > MOST_BYTES:
            found.append(f"{usage.ru_maxrss >> 10} MB")
        if code not in (0, 1, 2, 3) or (self.named and code == 3):
            found.append(f"exit code {code}")
        said = err.splitlines() or out.splitlines()  # evo tasks lists what is wrong with each.
        if code >= 2 and not (said and (said[-1].startswith(b"evo: ") or self.arguments == [b"tasks"])):
            found.append("no reason in one line")
        for stream, text in (("output", out), ("errors", err)):
            plain = text.decode("utf-8", "surrogateescape")
            if raw := re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\udc80-\udcff]", plain):
                found.append(f"{raw[0]!r} in standard {stream}")
        for name in self.outputs:
            data = (folder / name).read_bytes() if (folder / name).exists() else BEFORE
            if data != BEFORE and (code >= 2 or not data):
                found.append(f"{name} was written although the command failed")
            if data != BEFORE and name.endswith(".html") and not data.rstrip().endswith(b"</html>"):
                found.append(f"{name} is half a page")
        found += [f"{path.relative_to(folder)} is left" for path in folder.rglob("*.tmp")]
        return found


def try_one(number, sound, base):
    folder = base / str(number)
    case = Case(number, sound)
    case.write(folder, sound)
    found = case.faults(folder)
    if found or chosen.only is not None:
        shown = b" ".join(a[:200] for a in case.arguments).decode(errors="replace")
        print(f"{number}: evo {shown!r}: {'; '.join(found) or 'as it should'} ({folder}; {case.seconds:.1f} s, {getattr(case, 'code', '-')})", flush=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return case, bool(found)


def main():
    base = pathlib.Path(tempfile.mkdtemp(prefix="evo-hostile-"))
    (base / "sound").mkdir()
    sound = prepare(base / "sound")
    first, step = map(int, chosen.part.split("/"))
    numbers = [chosen.only] if chosen.only is not None else range(first, chosen.inputs, step)
    with concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
        tried = list(pool.map(lambda number: try_one(number, sound, base), numbers))
    failed = sum(bad for _, bad in tried)
    codes = {code: sum(getattr(case, "code", None) == code for case, _ in tried) for code in (0, 1, 2, 3)}
    print(f"{len(tried)} inputs, {failed} failed; exit codes {codes}; {sum(case.seconds for case, _ in tried):.0f} s of CPU time, "
          f"at most {max(case.seconds for case, _ in tried):.1f} s for one")
    if not failed and chosen.only is None:
        shutil.rmtree(base)
    sys.exit(failed > 0)


main()
