"""What the task w4a16 computes, in torch."""


def weights(w, scale, zero_point, zero_offset):
    """The weights [K, N] in f32: eight codes of a column in a word of w, those of eight columns in one of zero_point."""
    import torch

    places = 4 * torch.arange(8, device=w.device, dtype=torch.int32)
    codes = (w[:, None, :] >> places[:, None] & 15).flatten(0, 1)
    zeros = (zero_point[:, :, None] >> places & 15).flatten(1) + zero_offset
    return ((codes.unflatten(0, (-1, 128)) - zeros[:, None]).float() * scale.float()[:, None]).flatten(0, 1)


def reference(a, w, scale, zero_point, *, zero_offset, **_):
    import torch

    return (a.float() @ weights(w, scale, zero_point, int(zero_offset))).to(torch.bfloat16)
