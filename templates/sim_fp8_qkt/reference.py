"""What the task sim_fp8_qkt computes, in torch: the product of the codes without their zero points is exact in f32."""


def reference(q, k, q_scale, k_scale, q_zero, k_zero, *, scaled, **_):
    q, k = (codes.float() - zero.float()[..., None, None] for codes, zero in ((q, q_zero), (k, k_zero)))
    scores = q @ k.transpose(-2, -1)
    if scaled:
        scores = scores * q.shape[-1] ** -0.5
    return scores * (q_scale * k_scale)[..., None, None]
