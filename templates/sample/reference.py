"""What the task sample computes, in torch. f64 stands for the fused multiply-add of f32: rounding twice may move the last
bit of a weight in one of 2^29, which the kernels never do."""

import torch

COEFFICIENTS = (
    2.0817914628423750e-4, 1.2692166492342949e-3, 9.6521954983472824e-3, 5.5496022105216980e-2, 2.4022720754146576e-1,
    6.9314718246459961e-1, 1.0,
)


def weights_of(logits, temperature):
    """logits: f32, in descending order; whole numbers up to 2^40."""
    factor = torch.tensor(1.4426950408889634, dtype=torch.float32, device=logits.device) / temperature
    exponent = (logits - logits[:, :1]) * factor[:, None]
    seen = exponent > -41
    exponent = torch.where(seen, exponent, 0.0)
    x = (exponent - exponent.floor()).double()
    power = torch.zeros_like(x)
    for coefficient in COEFFICIENTS:
        power = (power * x + float(torch.tensor(coefficient, dtype=torch.float32))).float().double()
    return torch.where(seen, (power * 2.0**40).long() >> (-exponent.floor()).long(), 0)


def part_of(weight, part):
    return (weight.double() * part.double().clamp(min=0)).long()


def reference(logits, temperature, top_k, top_p, min_p, uniform, **_):
    largest = torch.finfo(torch.float32).max
    logits = logits.float().nan_to_num(nan=-largest, posinf=largest, neginf=-largest)
    columns = logits.shape[-1]
    ordered, index = torch.sort(logits, dim=-1, descending=True, stable=True)
    greedy = ~(temperature >= 1e-5)
    weights = weights_of(ordered, temperature.masked_fill(greedy, 1.0))
    k = torch.where(top_k <= 0, columns, top_k.clamp(max=columns)).masked_fill(greedy, 1)
    place = torch.arange(columns, device=logits.device)
    kept = place < k[:, None]
    sums = weights.cumsum(-1)
    of_top_k = sums.gather(-1, k.long()[:, None] - 1)[:, 0]
    wanted = part_of(of_top_k, top_p).clamp(min=1)
    kept &= (top_p >= 1)[:, None] | (sums - weights < wanted[:, None])
    kept &= (place == 0) | (weights >= part_of(torch.full_like(of_top_k, 1 << 40), min_p)[:, None])
    in_order = torch.zeros_like(weights).scatter_(-1, index, weights.masked_fill(~kept, 0))
    sums = in_order.cumsum(-1)
    of_all = sums[:, -1]
    target = torch.minimum(part_of(of_all, uniform), of_all - 1)
    drawn = (sums <= target[:, None]).sum(-1)
    probability = in_order.gather(-1, drawn[:, None])[:, 0].double() / of_all.double()
    return drawn.int(), probability.float()
