"""Is FlashAttention-3 right here? Its kernels against attention in double precision, and in a CUDA graph."""

import itertools

from flash_attention3_build import KERNELS, library_name

# The largest relative error over all elements, by the type of the kernel's. That of e4m3 is the task's.
LIMITS = {"e4m3": 0.04, "f16": 0.0006, "bf16": 0.005}
SIZES = ((2, 3, 200), (1, 2, 513), (1, 1, 1), (2, 8, 1024), (1, 8, 2048))  # B, H, S


def in_double(q, k, v, causal, softmax_scale):
    import torch

    scores = q @ k.transpose(-2, -1) * softmax_scale
    if causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(hidden, float("-inf"))
    return scores.softmax(-1) @ v


def same_bits(a, b):
    import torch

    return torch.equal(a.contiguous().view(torch.int16), b.contiguous().view(torch.int16))


def check_one(source, element, width, causal, sizes, split):
    """The relative error of one call, and whether calls in a CUDA graph repeat its bits."""
    import torch

    dtype = {"e4m3": torch.float8_e4m3fn, "f16": torch.float16, "bf16": torch.bfloat16}[element]
    values = [torch.randn((*sizes, width), device="cuda") for _ in range(3)]
    scales = []
    if element == "e4m3":
        # Scales far from each other: one head's or one tensor's in another's place shows. One for all where B is 1.
        shape = (1, 1) if sizes[0] == 1 else sizes[:2]
        scales = [torch.rand(shape, device="cuda") * factor + factor for factor in (0.5, 0.25, 2)]
        values = [value / scale[..., None, None] for value, scale in zip(values, scales)]
    tensors = [value.to(dtype) for value in values]
    exact = [tensor.double() for tensor in tensors]
    if scales:
        exact = [tensor * scale.double()[..., None, None] for tensor, scale in zip(exact, scales)]
    call = source.prepare(element, *tensors, scales, causal, width**-0.5, split)
    o = call().clone()
    expected = in_double(*exact, causal, width**-0.5)
    error = float((o.double() - expected).norm() / expected.norm())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
        last = call()
    repeats = True
    for _ in range(3):
        last.zero_()
        graph.replay()
        repeats = repeats and same_bits(last, o)
    return error, repeats


def check(found):
    """Prints a line for each case of what found() returns. True: all are right, and there was one."""
    import torch

    if not torch.cuda.is_available():
        raise ImportError("torch finds no GPU")
    source = found()
    torch.manual_seed(1)
    passed = failed = 0
    for kernel in KERNELS:
        element, width = kernel.split("_")[0], int(kernel.split("_")[1])
        if not source.has(element, width):
            print(f"{kernel}: skipped, no {library_name(kernel)}")
            continue
        print(f"{kernel}: {source.version(element, width)}")
        for sizes, causal, split in itertools.product(SIZES, (False, True), (False, True)):
            if split and source.splits(element, (*sizes, width), causal) == 1:
                continue
            error, repeats = check_one(source, element, width, causal, sizes, split)
            right = error <= LIMITS[element] and repeats  # NaN is not.
            passed, failed = passed + right, failed + (not right)
            case = ",".join(map(str, (*sizes, width))) + " causal" * causal + " split" * split
            faults = ", other bits in a graph" * (not repeats) + ", WRONG" * (not right)
            print(f"  {case}: error {error:.2g} of {LIMITS[element]}{faults}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return passed > 0 and failed == 0
