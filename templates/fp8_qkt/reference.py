"""What the task fp8_qkt computes, in torch."""


def reference(q, k, q_scale, k_scale, *, scaled, **_):
    scores = q.float() @ k.float().transpose(-2, -1)
    if scaled:
        scores = scores * q.shape[-1] ** -0.5
    return scores * (q_scale * k_scale)[..., None, None]
