"""tests/gpu/python_package: a line for each thing that was tried. Exit code 1: something failed."""

import os
import sys
import time
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor

import evo_kernels as evo
import torch
import torch.nn.functional as F

BUDGET = os.environ.get("EVO_SEARCH_TIME", "10s")
SAXPY = """extern "C" __global__ void saxpy(float* y, const float* x, float a, int n) {
  const int begin = (blockIdx.x * threads + threadIdx.x) * per_thread;
  for (int i = begin; i < begin + per_thread && i < n; ++i) y[i] += a * x[i];
}
"""
rows = []


def tried(what, check):
    began = time.perf_counter()
    try:
        said, right = check(), True
    except Exception as error:
        traceback.print_exc()
        said, right = f"{type(error).__name__}: {error}", False
    rows.append(right)
    verdict = "ok" if right else "FAILED"
    print(f"{what}: {verdict}, {time.perf_counter() - began:.1f} s: {str(said)[:160]}", flush=True)


def error_of(got, want):
    return ((got.float() - want.float()).norm() / want.float().norm()).item()


found = {}


def searches():
    # No model decides what is tried: a search of seconds would spend them on it.
    quick = {"check_time": "0", "presearch": 0, "screen": 1, "seed": 1, "db": "gpu.db", "progress": False}
    found["fp8"] = evo.run("fp8_sdpa", time=BUDGET, **quick)
    found["softmax"] = evo.run("softmax", shapes=(1, 4096, 1024), time="5s", **quick)
    assert all(one.best.timing == "measured" for one in found.values())
    return ", ".join(f"{one.task} {one.best.latency_us:.2f} us of {one.evaluated}" for one in found.values())


def loading():
    with ThreadPoolExecutor() as pool:
        found["kernels"] = dict(zip(["fp8", "softmax"], pool.map(evo.load, [found["fp8"], found["softmax"]])))
    return str(list(found["kernels"].values()))


def fp8_on_tensors():
    codes = [torch.randn(1, 8, 512, 64, device="cuda").to(torch.float8_e4m3fn) for _ in range(3)]
    scales = [torch.full((1, 8), scale, device="cuda") for scale in (1.0, 0.9, 1.1)]
    got = found["kernels"]["fp8"](*codes, *scales)
    want = F.scaled_dot_product_attention(*(c.float() * s[..., None, None] for c, s in zip(codes, scales)))
    error = error_of(got, want)
    assert error < 0.04, error
    return f"relative L2 {error:.4f} against torch"


def arrays():
    kernel = evo.load(found["softmax"], arrays="cuda")
    x = torch.randn(1, 300, 1024, device="cuda", dtype=torch.bfloat16)
    y = torch.zeros_like(x)
    kernel(x, y)
    error = error_of(y, torch.softmax(x, -1))
    assert error < 0.01, error
    return f"softmax by its launcher: relative L2 {error:.4f}"


def compiled():
    package = found["kernels"]["softmax"].package
    x = torch.randn(1, 64, 1024, device="cuda", dtype=torch.bfloat16)
    function = torch.compile(lambda given: package.softmax(given) * 2, fullgraph=True, backend="aot_eager")
    assert torch.equal(function(x), package.softmax(x) * 2)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):
            package.softmax(x[..., :512].contiguous())
    assert len(said) == 1 and list(package.fallbacks.values()) == [2], (said, package.fallbacks)
    return f"one graph; {package.__version__} fell back: {dict(package.fallbacks)}"


def tuned():
    @evo.tuned(
        "saxpy", {"threads": [64, 128, 256], "per_thread": [1, 2, 4]}, ["y=inout float[N]", "x=float[N]", "float:0.5", "N"],
        source=SAXPY, key=["N"], grid=["ceil_div(N, threads * per_thread)"], block=["threads"], evals=2, check_time="0",
        presearch=0, db="gpu.db", progress=False,
    )  # fmt: skip
    def saxpy(y, x):
        return y + 0.5 * x

    y, x = torch.randn(1 << 20, device="cuda"), torch.randn(1 << 20, device="cuda")
    for _ in range(3):
        assert torch.allclose(saxpy(y, x), y + 0.5 * x)
    return dict(saxpy.calls)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(512, 1024, bias=False)
        self.second = torch.nn.Linear(1024, 512)

    def forward(self, x):
        return self.second(F.softmax(self.first(x), dim=-1))


def applied():
    model = Model().cuda().bfloat16()
    x = torch.randn(4, 1024, 512, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad():
        want = model(x)
        with evo.apply([found["kernels"]["softmax"]], verbose=False) as applied:
            got = model(x)
    error = error_of(got, want)
    assert applied.routed == 1 and error < 0.01, (applied.summary(), error)
    return f"{applied.summary()} (relative L2 {error:.4f})".replace("\n", ";")


def profiled():
    model = Model().cuda().bfloat16()
    profile = evo.profile(model, torch.randn(4, 1024, 512, device="cuda", dtype=torch.bfloat16))
    assert profile.device == "cuda" and len(profile.commands) == 2
    shares = [f"{row['function']} {row['of_floor']:.0%}" for row in profile.rows if row["of_floor"]]
    return f"{profile.covered:.0%} covered, of the floor: {', '.join(shares)}; {profile.commands[0]}"


tried("search", searches)
tried("load", loading)
tried("FP8 attention on tensors", fp8_on_tensors)
tried("launcher on arrays", arrays)
tried("compiled, and sizes without a kernel", compiled)
tried("apply", applied)
tried("profile", profiled)
tried("tuned", tuned)
sys.exit(not all(rows))
