"""Kernels of a database as callables: built once, kept in a folder of the user's, and called on arrays of the GPU."""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, List, Literal, Mapping, Optional, Sequence, Tuple, Union, overload

from ._arrays import Tensor, add_sizes, address_of, check_array, current_stream, on_device, torch_device
from ._database import Candidate, Database, PathLike, export_candidates
from ._program import DATABASE, MISSING, USAGE, EvoError

#: What cudaError_t says, of those that a launcher gives by itself.
_CUDA_ERRORS = {
    1: "a size without a kernel, or an address that is null or not aligned (cudaErrorInvalidValue)",
    35: "the driver is older than the CUDA runtime (cudaErrorInsufficientDriver)",
    100: "there is no GPU (cudaErrorNoDevice)",
    209: "the kernel is not for this GPU (cudaErrorNoKernelImageForDevice)",
    720: "its blocks are not all resident together (cudaErrorCooperativeLaunchTooLarge)",
}


class Kernel:
    """A kernel of a task, called on torch tensors: kernel(q, k, v, ...) returns the outputs, out= takes them."""

    def __init__(self, package: Any, task: str, candidates: Sequence[Candidate] = ()) -> None:
        #: The torch package (docs/export.md): its function, supports(), OPTIONS, reference().
        self.package = package
        self.task = task
        self.candidates = list(candidates)

    @property
    def options(self) -> Dict[str, Any]:
        """The task's options that it was made for."""
        return dict(self.package.OPTIONS)

    def supports(self, *sizes: int) -> bool:
        """Whether there is a kernel for these sizes of the task, in the task's order."""
        return bool(self.package.supports(*sizes))

    def __call__(self, *tensors: Any, out: Any = None) -> Any:
        return getattr(self.package, self.task)(*tensors, out=out)

    def __repr__(self) -> str:
        numbers = ", ".join(str(one.id) for one in self.candidates)
        return f"<kernel of {self.task}{', candidate ' + numbers if numbers else ''}>"


class ArrayKernel:
    """A kernel without torch: the launcher of its exported file, called on arrays of cupy, numba or cuda-python.

    kernel(x, y) takes all tensors in the launcher's order, outputs too. Each has a __cuda_array_interface__, or is an
    address. Sizes come from the arrays' shapes; those that no shape tells are keywords: kernel(x, y, S=512). stream:
    CUDA's; else torch's current one, or the default one.
    """

    def __init__(self, text: str, library: PathLike, options: Mapping[str, Any] = {}) -> None:
        self.name, parameters = _launcher(text)
        self._options = dict(options)
        self._parameters = parameters
        self.tensors = _tensors(text, parameters)
        self.sizes = [name for kind, name in parameters if kind == "int"]
        self._numbers = [name for kind, name in parameters if kind in ("int", "float")]
        self.needs_workspace = any(name == "workspace" for _, name in parameters)
        content = Path(library).read_bytes()
        self._library = ctypes.CDLL(str(library))
        self._function = self._symbol(content, self.name)
        self._workspace = self._symbol(content, f"{self.name}_workspace_bytes") if self.needs_workspace else None
        if self._workspace is not None:
            self._workspace.restype = ctypes.c_size_t

    def _symbol(self, content: bytes, name: str) -> Any:
        found = re.search(rb"_Z%d%s\w*" % (len(name), name.encode()), content)
        if found is None:
            raise EvoError(f"{name} is not in its library")
        return getattr(self._library, found[0].decode())

    def workspace_bytes(self, **sizes: int) -> int:
        """Bytes of scratch memory that a call with these sizes needs."""
        if self._workspace is None:
            return 0
        return int(self._workspace(*(ctypes.c_int(sizes[name]) for name in self.sizes)))

    def __call__(self, *arrays: Any, stream: Optional[int] = None, workspace: Any = None, **given: float) -> None:
        if len(arrays) != len(self.tensors):
            names = ", ".join(f"{one.name} ({one.use})" for one in self.tensors)
            raise EvoError(f"{self.name} takes {len(self.tensors)} arrays, {names}: {len(arrays)} were given")
        unknown = [name for name in given if name not in self._numbers]
        missing = [name for kind, name in self._parameters if kind == "float" and name not in given]
        if unknown or missing:
            raise EvoError(
                f"{self.name}: "
                + "; ".join([f"there is no {one}" for one in unknown] + [f"give {one} by name" for one in missing])
            )
        sizes = self._sizes(arrays, given)
        device = torch_device(arrays)
        by_name = {tensor.name: address_of(array) for tensor, array in zip(self.tensors, arrays)}
        values: List[Any] = []
        for kind, name in self._parameters:
            if kind == "int":
                values.append(ctypes.c_int(int(sizes[name])))
            elif kind == "float":
                values.append(ctypes.c_float(given[name]))
            elif kind == "stream":
                values.append(ctypes.c_void_p(current_stream(device) if stream is None else int(stream)))
            elif name == "workspace":
                values.append(ctypes.c_void_p(None if workspace is None else address_of(workspace)))
            else:
                values.append(ctypes.c_void_p(by_name[name]))
        with on_device(device):
            code = self._function(*values)
        if code != 0:
            raise EvoError(f"{self.name}: {_CUDA_ERRORS.get(code, f'CUDA error {code}')}", USAGE if code == 1 else MISSING)

    def _sizes(self, arrays: Sequence[Any], given: Mapping[str, float]) -> Dict[str, int]:
        sizes: Dict[str, int] = {name: int(value) for name, value in given.items() if name in self.sizes}
        add_sizes(sizes, self.tensors, arrays, self.sizes.__contains__, f"{self.name}: ")
        missing = [name for name in self.sizes if name not in sizes]
        if missing:
            raise EvoError(f"{self.name}: no shape tells {', '.join(missing)}: give it by name")
        for tensor, array in zip(self.tensors, arrays):
            check_array(f"{self.name}: {tensor.name}", array, tensor.dtype, tensor.dims, {**sizes, **self._options})
        return sizes

    def __repr__(self) -> str:
        return f"<launcher {self.name}({', '.join(one.name for one in self.tensors)})>"


def _launcher(text: str) -> Tuple[str, List[Tuple[str, str]]]:
    """The launcher of an exported file: its name, and the kind and name of each parameter."""
    found = re.findall(r"^cudaError_t (\w+)\(([^)]*cudaStream_t stream)\) \{", text, re.MULTILINE)
    if not found:
        raise EvoError("the file has no launcher that evo export wrote")
    name, listed = found[-1]
    parameters = []
    for one in re.split(r",\s*", listed):
        kind, parameter = one.rsplit(" ", 1)
        parameters.append(
            ("pointer" if "*" in kind else "stream" if kind == "cudaStream_t" else kind.split()[-1], parameter)
        )
    return name, parameters


def _tensors(text: str, parameters: Sequence[Tuple[str, str]]) -> List[Tensor]:
    """Those that the comment above the launcher describes, in the launcher's order."""
    described = {
        name: Tensor(name, use, dtype, tuple(re.split(r",\s*(?![^()]*\))", dims)) if dims else ())
        for name, use, dtype, dims in re.findall(
            r"^//   (\w+)\s+(in out|in|out)\s+(\w+)(?: \[(.*?)\])?", text, re.MULTILINE
        )
    }
    return [described[name] for kind, name in parameters if kind == "pointer" and name in described]


@overload
def load(
    what: Any, *, db: PathLike = DATABASE, arrays: Literal["torch"] = "torch", verbose: bool = False
) -> Kernel: ...


@overload
def load(what: Any, *, db: PathLike = DATABASE, arrays: Literal["cuda"], verbose: bool = False) -> ArrayKernel: ...


def load(
    what: Any, *, db: PathLike = DATABASE, arrays: str = "torch", verbose: bool = False
) -> Union[Kernel, ArrayKernel]:
    """A kernel to call. It is compiled by nvcc at the first time, in half a minute, and kept.

    what: a result of a search, a candidate or its number in `db`, a database (its newest best), or a list of
        candidates of one task: the call's size chooses among these.
    arrays: "torch": a Kernel on torch tensors. "cuda": an ArrayKernel, which needs no torch.
    $EVO_CACHE names the folder of what was built; else it is in ~/.cache/evo_kernels.

    Raises EvoError where nvcc or torch is missing, or where the build fails.
    """
    candidates = candidates_of(what, db)
    databases = sorted({os.path.realpath(one.db) for one in candidates})
    if len(databases) > 1:
        raise EvoError(f"candidates of one database are loaded together, not of {' and '.join(databases)}")
    if arrays not in ("torch", "cuda"):
        raise EvoError(f"arrays={arrays!r}: torch or cuda")
    return _load_torch(candidates, verbose) if arrays == "torch" else _load_arrays(candidates, verbose)


def candidates_of(what: Any, db: PathLike) -> List[Candidate]:
    if isinstance(what, (list, tuple)):
        return [candidate for one in what for candidate in candidates_of(one, db)]
    if isinstance(what, int):
        return [Candidate(what, db)]
    if isinstance(what, (Candidate, Database)):
        return [what if isinstance(what, Candidate) else what.best()]
    if hasattr(what, "best"):
        return [what.best]
    raise EvoError(f"load() takes a result, a candidate or a database, not a {type(what).__name__}")


def _digest(candidates: Sequence[Candidate]) -> str:
    """Of what is exported: it names the package, so that another kernel has another name."""
    facts = [
        [one.document["source_hash"], one.document["genome"], one.document["run"]["target"], one.document["evo"]]
        for one in candidates
    ]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]


def cache_folder() -> Path:
    named = os.environ.get("EVO_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "evo_kernels"


def _kept(place: Path, make: Callable[[Path], None]) -> Path:
    """What `make` puts into a folder, made once. It appears whole, also when two processes make it."""
    if not place.is_dir():
        place.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=place.name + ".", dir=place.parent))
        try:
            make(made)
            made.rename(place)
        except OSError:
            if not place.is_dir():
                raise
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return place


def _build(command: Sequence[str], folder: Path, verbose: bool) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    except FileNotFoundError:
        raise EvoError(f"{command[0]} is missing: install the CUDA Toolkit, or set CUDA_HOME", MISSING) from None
    if verbose:
        print(done.stdout)
    if done.returncode != 0:
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        why = [line for line in lines if "error" in line.lower()] or lines[-1:]
        raise EvoError(f"the kernel was not built: {why[0].strip() if why else command[0]}", MISSING)


def _load_torch(candidates: Sequence[Candidate], verbose: bool) -> Kernel:
    try:
        import torch
    except ImportError:
        raise EvoError('load() needs torch, or arrays="cuda"', MISSING) from None
    if not hasattr(torch.library, "register_fake"):
        raise EvoError(f"packages need torch 2.4 or newer, and this is {torch.__version__}", MISSING)
    task = candidates[0].task
    name = f"evo_{task}_{_digest(candidates)}"
    tag = f"torch{torch.__version__}-py{sys.version_info[0]}{sys.version_info[1]}"

    def make(folder: Path) -> None:
        package = folder / "package"
        export_candidates([one.id for one in candidates], candidates[0].db, package, format="torch", name=name)
        build = [sys.executable, "setup.py", "build", "--build-lib", str(folder), "--build-temp", str(folder / "made")]
        _build(build, package, verbose)
        shutil.rmtree(folder / "made", ignore_errors=True)

    place = str(_kept(cache_folder() / f"{name}-{tag}", make))
    if place not in sys.path:
        sys.path.append(place)
    return Kernel(importlib.import_module(name), task, candidates)


def _load_arrays(candidates: Sequence[Candidate], verbose: bool) -> ArrayKernel:
    if len(candidates) != 1:
        raise EvoError('arrays="cuda" takes one candidate', USAGE)
    name = f"evo_{candidates[0].task}"

    def make(folder: Path) -> None:
        file = export_candidates([candidates[0].id], candidates[0].db, folder / f"{name}.cu")
        command = re.search(r"nvcc (.*) -c FILE\.cu", file.read_text(encoding="utf-8"))
        if command is None:
            raise EvoError(f"{file} does not say how it is compiled")
        flags = [*command[1].split(), "-shared", "-Xcompiler", "-fPIC"]
        _build([nvcc(), *flags, str(file), "-o", str(folder / f"{name}.so")], folder, verbose)

    place = _kept(cache_folder() / f"{name}_{_digest(candidates)}", make)
    return ArrayKernel((place / f"{name}.cu").read_text(encoding="utf-8"), place / f"{name}.so", candidates[0].options)


def nvcc() -> str:
    """CUDA's compiler: of $CUDA_HOME, of the PATH, else of the usual place."""
    home: Optional[str] = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    if home:
        return str(Path(home) / "bin" / "nvcc")
    return shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
