"""A small search on the virtual GPU, made once for a process of tests, and folders that go away."""

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

import evo_kernels as evo

SAXPY = """
extern "C" __global__ void saxpy(float* y, const float* x, float a, int n) {
  const int begin = (blockIdx.x * threads + threadIdx.x) * per_thread;
  for (int i = begin; i < begin + per_thread && i < n; ++i) y[i] += a * x[i];
}
extern "C" __global__ void saxpy_plain(float* y, const float* x, float a, int n) {
  for (int i = 0; i < n; ++i) y[i] += a * x[i];
}
"""

#: Of saxpy, but for the shapes and the reference.
FORM = {
    "source": SAXPY,
    "genes": {"threads": [32, 64], "per_thread": [1, 2]},
    "arguments": ["y=inout float[N]", "x=float[N]", "float:0.5", "N"],
    "grid": ["ceil_div(N, threads * per_thread)"],
    "block": ["threads"],
    "device": "vgpu",
    "evals": 2,
    "check_time": "0",
    "progress": False,
}


def folder() -> Path:
    made = tempfile.mkdtemp(prefix="evo-test-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


@functools.lru_cache(maxsize=None)
def small_search() -> evo.Result:
    return evo.run(
        "softmax", shapes="small_one", device="vgpu", evals=3, seed=1, check_time="0", db=folder() / "evo.db",
        progress=False,
    )  # fmt: skip


def rows(frame):
    """Of a frame of pandas or a Table."""
    return frame.to_dict("records") if hasattr(frame, "iloc") else list(frame.rows())
