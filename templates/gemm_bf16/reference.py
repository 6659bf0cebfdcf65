"""What the task gemm_bf16 computes, in torch."""


def reference(a, b, *, out, b_layout, **_):
    if b_layout == "nk":
        b = b.t()
    return a @ b if out == "bf16" else a.float() @ b.float()
