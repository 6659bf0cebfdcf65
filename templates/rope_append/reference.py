"""What the task rope_append computes, in torch."""

import torch


def rotated(x, cosine, sine, *, pairs, R):
    """x: [tokens, heads, D]; cosine, sine: [tokens, 1, R / 2]."""
    turned, kept = x[..., :R], x[..., R:]
    if pairs == "halves":
        first, second = turned.chunk(2, dim=-1)
    else:
        first, second = turned[..., 0::2], turned[..., 1::2]
    results = first * cosine - second * sine, second * cosine + first * sine
    turned = torch.cat(results, dim=-1) if pairs == "halves" else torch.stack(results, dim=-1).flatten(-2)
    return torch.cat((turned, kept), dim=-1)


def angles(positions, cos_sin, *, theta, R):
    if not theta:
        cosine, sine = cos_sin[positions.long()].double().chunk(2, dim=-1)
    else:
        turns = float(theta) ** (-torch.arange(0, R, 2, device=positions.device, dtype=torch.float64) / R)
        angle = positions.double()[:, None] * turns
        cosine, sine = angle.cos(), angle.sin()
    return cosine[:, None], sine[:, None]


def appended(cache, values, scale, slots, *, cache_layout, page, S):
    """A copy of the cache with the rows of those tokens that have a slot in it."""
    cache = cache.float().clone()
    rows = cache if cache_layout == "nhd" else cache.transpose(1, 2)
    if scale is not None:
        values = (values / scale.double()[:, None]).clamp(-448, 448)
    tokens = ((slots >= 0) & (slots < S)).nonzero().flatten()
    slots = slots[tokens].long()
    rows[slots // page, slots % page] = values[tokens].float()
    return cache


def reference(
    q=None, k=None, v=None, positions=None, cos_sin=None, slots=None, slots_in_order=None, k_scale=None, v_scale=None,
    q_in_place=None, k_cache=None, v_cache=None,
    *, pairs, theta, append, in_place, page, cache_layout, slot_order, **sizes,
):
    R, S = sizes["R"], sizes["S"]
    cosine, sine = angles(positions, cos_sin, theta=theta, R=R)
    results = (rotated((q_in_place if in_place else q).double(), cosine, sine, pairs=pairs, R=R).float(),)
    if append:
        slots = slots if slot_order == "random" else slots_in_order
        keys = rotated(k.double(), cosine, sine, pairs=pairs, R=R)
        for cache, values, scale in ((k_cache, keys, k_scale), (v_cache, v.double(), v_scale)):
            results += (appended(cache, values, scale, slots, cache_layout=cache_layout, page=page, S=S),)
    return results if append else results[0]
