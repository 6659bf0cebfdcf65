"""Writes the wheel of evo: the Python package, the portable program, templates, rivals and docs.

usage: wheel.py --program FILE --version VERSION --output DIR [--strip COMMAND]

Its tag is the oldest manylinux that has the versions of glibc's symbols which the program uses. A program that needs a
newer glibc than manylinux_2_34, or another library than glibc's, is refused. The same files give the same bytes.
"""

import argparse
import base64
import hashlib
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "evo_kernels"
NEWEST_GLIBC = (2, 34)  # Ubuntu 22.04 has 2.35.
OLDEST_GLIBC = (2, 17)  # Of all manylinux that are in use.
LIBRARIES = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}
LARGEST = 20_000_000
SHIPPED = ["templates", "rivals", "docs"]  # The program finds them beside itself.
LEFT_OUT = {"__pycache__", "results", "studies"}  # What was measured where: the repository has it.

METADATA = """\
Metadata-Version: 2.1
Name: evo-kernels
Version: {version}
Summary: Searches for the fastest correct CUDA kernel of a task
License: Apache-2.0
Requires-Python: >=3.9
Provides-Extra: nvrtc
Requires-Dist: nvidia-cuda-nvrtc ; extra == "nvrtc"
Description-Content-Type: text/markdown

{description}"""

WHEEL = """\
Wheel-Version: 1.0
Generator: evo
Root-Is-Purelib: false
Tag: {tag}
"""

ENTRY_POINTS = """\
[console_scripts]
evo = evo_kernels._command:main
"""


def refuse(why):
    sys.exit(f"wheel: {why}")


def glibc_of(program):
    """The newest version of glibc whose symbols the program uses. Refuses what not every Linux would run."""
    said = subprocess.run(
        ["readelf", "--wide", "--dynamic", "--version-info", str(program)], capture_output=True, text=True
    )
    if said.returncode != 0:
        refuse(f"{program} is no program: {said.stderr.strip()}")
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", said.stdout))
    if foreign := sorted(needed - LIBRARIES):
        refuse(f"{program} needs {', '.join(foreign)}: build it with the preset portable")
    versions = [tuple(map(int, text.split("."))) for text in re.findall(r"Name: GLIBC_([\d.]+)", said.stdout)]
    newest = max(versions, default=OLDEST_GLIBC)[:2]
    if newest > NEWEST_GLIBC:
        refuse(f"{program} needs glibc {newest[0]}.{newest[1]}: build it where glibc is no newer than 2.34")
    return max(newest, OLDEST_GLIBC)


def files_of_package(program, strip):
    """Names in the wheel with contents, and whether they may be executed."""
    for path in sorted((ROOT / "python" / PACKAGE).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield f"{PACKAGE}/{path.relative_to(ROOT / 'python' / PACKAGE)}", path.read_bytes(), False
    with tempfile.TemporaryDirectory() as folder:
        stripped = Path(folder) / "evo"
        subprocess.run([strip, "-o", str(stripped), str(program)], check=True)
        yield f"{PACKAGE}/program/evo", stripped.read_bytes(), True
    for folder in SHIPPED:
        for path in sorted((ROOT / folder).rglob("*")):
            inside = path.relative_to(ROOT)
            if path.is_file() and not LEFT_OUT & set(inside.parts) and path.suffix != ".png":
                executable = path.stat().st_mode & 0o100 != 0
                yield f"{PACKAGE}/program/{inside}", path.read_bytes(), executable


def add(wheel, name, content, executable):
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    wheel.writestr(entry, content, compresslevel=9)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def cpu_of(program):
    """The CPU that an ELF file is for, by e_machine."""
    with program.open("rb") as file:
        machine = int.from_bytes(file.read(20)[18:20], "little")
    return {0x3E: "x86_64", 0xB7: "aarch64"}[machine]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--strip", default="strip")
    asked = parser.parse_args()
    tag = "py3-none-manylinux_{}_{}_{}".format(*glibc_of(asked.program), cpu_of(asked.program))
    info = f"{PACKAGE}-{asked.version}.dist-info"
    licence = (ROOT / "LICENSE").read_text()
    description = (ROOT / "README.md").read_text(encoding="utf-8")
    facts = {
        "METADATA": METADATA.format(version=asked.version, description=description),
        "WHEEL": WHEEL.format(tag=tag),
        "entry_points.txt": ENTRY_POINTS,
        "LICENSE": licence,
    }
    asked.output.mkdir(parents=True, exist_ok=True)
    file = asked.output / f"{PACKAGE}-{asked.version}-{tag}.whl"
    with zipfile.ZipFile(file, "w") as wheel:
        record = "".join(add(wheel, *one) for one in files_of_package(asked.program, asked.strip))
        for name, text in facts.items():
            record += add(wheel, f"{info}/{name}", text.encode(), False)
        add(wheel, f"{info}/RECORD", (record + f"{info}/RECORD,,\n").encode(), False)
    if (size := file.stat().st_size) > LARGEST:
        refuse(f"{file} has {size} bytes, more than {LARGEST}")
    print(f"{file}: {size / 1e6:.1f} MB")


main()
