"""How torch computes evo's tasks, in the precision that a user of torch would take."""

from rival import Refusal, dtype_named


class TorchCall:
    """prepare(problem) gives the tensors that call(*tensors) takes. It is not timed: codes are decoded there. `others`: name to
    another way to call torch, and its note."""

    def __init__(self, prepare, call, note="", attention=False, others=None):
        self.prepare, self.call, self.note, self.attention = prepare, call, note, attention
        self.others = others or {}


def decoded(inputs, name, dtype):
    """Codes times their scales of (batch, head), less their zero points."""
    codes, scale = inputs[name].float(), inputs[name + "_scale"]
    if name + "_zero" in inputs:
        codes = codes - inputs[name + "_zero"].float()[..., None, None]
    return (codes * scale[..., None, None]).to(dtype)


def attention(task):
    import torch
    import torch.nn.functional as F
    from torch.nn.attention.bias import causal_lower_right

    options, name = task["options"], task["task"]
    causal = options.get("causal", False) or options.get("mask") == "causal"
    scale = options.get("softmax_scale") or None
    coded = name != "f16_sdpa"
    dtype = dtype_named(options["dtype"] if name == "f16_sdpa" else options.get("out", "f16"))

    def prepare(problem):
        q, k, v = (
            decoded(problem.inputs, tensor, dtype) if coded else problem.inputs[tensor] for tensor in ("q", "k", "v")
        )
        if options.get("v_layout") == "transposed":
            v = v[..., : k.shape[2]].transpose(-2, -1).contiguous()
        return q, k, v

    def call(q, k, v):
        if causal and q.shape[2] != k.shape[2]:
            # torch's is_causal is aligned top left.
            return F.scaled_dot_product_attention(q, k, v, causal_lower_right(q.shape[2], k.shape[2]), scale=scale)
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale)

    return TorchCall(prepare, call, f"{name_of(dtype)} of the decoded codes" if coded else "", attention=True)


def engine_attention(task):
    import torch
    import torch.nn.functional as F
    from torch.nn.attention.bias import causal_lower_right

    options = task["options"]
    if options["cu_seqlens"] or options["page"] or options["window"] or options["log_sum_exp"]:
        raise Refusal("scaled_dot_product_attention has no packed or paged sequences, windows or log-sum-exp")
    scale, heads_first = options["softmax_scale"] or None, options["layout"] == "bhsd"

    def prepare(problem):
        tensors = []
        for name in ("q", "k", "v"):
            codes, scales = problem.inputs[name], problem.inputs[name + "_scale"].flatten(1)
            codes = (codes if heads_first else codes.transpose(1, 2)).float()
            scales = scales.repeat_interleave(codes.shape[1] // scales.shape[1], dim=1)
            values = (codes * scales[..., None, None]).to(torch.bfloat16)
            # As the task lays them out.
            tensors.append(values if heads_first else values.transpose(1, 2).contiguous().transpose(1, 2))
        return tensors

    def call(q, k, v):
        gqa = q.shape[1] != k.shape[1]
        if options["causal"] and q.shape[2] != k.shape[2]:
            bias = causal_lower_right(q.shape[2], k.shape[2])
            o = F.scaled_dot_product_attention(q, k, v, bias, scale=scale, enable_gqa=gqa)
        else:
            o = F.scaled_dot_product_attention(q, k, v, is_causal=options["causal"], scale=scale, enable_gqa=gqa)
        return o if heads_first else o.transpose(1, 2)

    return TorchCall(prepare, call, "bf16 of the decoded codes", attention=True)


def score_product(task):
    import torch

    options = task["options"]
    wide = options["out"] == "f32"

    def prepare(problem):
        q, k = (decoded(problem.inputs, name, torch.float32) for name in ("q", "k"))
        if options["scaled"]:
            q = q * q.shape[-1] ** -0.5
        return [tensor.to(torch.float16).flatten(0, 1) for tensor in (q, k)]

    def call(q, k):
        if wide:
            return torch.bmm(q, k.transpose(1, 2), out_dtype=torch.float32)
        return torch.bmm(q, k.transpose(1, 2))

    return TorchCall(prepare, call, "f16 of the decoded codes")


def matrix_product(task):
    import torch

    options = task["options"]

    def prepare(problem):
        a, b = problem.inputs["a"], problem.inputs["b"]
        return a, b.t() if options["b_layout"] == "nk" else b

    def call(a, b):
        return torch.mm(a, b) if options["out"] == "bf16" else torch.mm(a, b, out_dtype=torch.float32)

    return TorchCall(prepare, call)


def grouped_product(task):
    import torch
    import torch.nn.functional as F

    if task["options"]["out"] != "bf16":
        raise Refusal("torch._grouped_mm has results of bf16 alone")
    gated = task["options"]["act"] == "silu_mul"

    def prepare(problem):
        offsets = problem.inputs["offsets"]
        return problem.inputs["a"], problem.inputs["b"].transpose(-2, -1), offsets[1:].clone(), offsets.tolist()

    def activated(product):
        if not gated:
            return product
        gate, up = product.chunk(2, dim=-1)
        return F.silu(gate) * up

    def grouped(a, weights, ends, bounds):
        return activated(torch._grouped_mm(a, weights, offs=ends))

    def loop(a, weights, ends, bounds):
        product = torch.empty(a.shape[0], weights.shape[-1], dtype=a.dtype, device=a.device)
        for expert, (first, end) in enumerate(zip(bounds, bounds[1:])):
            if first < end:
                torch.mm(a[first:end], weights[expert], out=product[first:end])
        return activated(product)

    return TorchCall(prepare, grouped, "torch._grouped_mm",
                     others={"torch loop": (loop, "a torch.mm for each expert, whose rows the host knows")})


def coded_product(task):
    """torch takes b and its scales transposed, and scales of blocks of a with its rows innermost."""
    import torch

    blocks, whole = (task["options"]["scaling"] == kind for kind in ("blocks", "tensor"))

    def prepare(problem):
        a, b, a_scale, b_scale = (problem.inputs[name] for name in ("a", "b", "a_scale", "b_scale"))
        if blocks:
            a_scale = a_scale.t().contiguous().t()
        elif whole:
            a_scale, b_scale = a_scale.reshape(()), b_scale.reshape(())
        return a, b.t(), a_scale, b_scale if whole else b_scale.t()

    fast = task["options"]["fast_accumulation"] and not blocks

    def call(a, b, a_scale, b_scale):
        return torch._scaled_mm(a, b, a_scale, b_scale, out_dtype=torch.bfloat16, use_fast_accum=fast)

    return TorchCall(prepare, call)


def softmax(task):
    import torch

    softmax = torch.log_softmax if task["options"]["logarithm"] else torch.softmax
    if not task["options"]["causal"]:
        return TorchCall(lambda problem: [problem.inputs["x"]], lambda x: softmax(x, -1))
    unseen = float("-inf")

    def prepare(problem):
        x = problem.inputs["x"]
        rows, columns = x.shape[-2:]
        return x, torch.ones(rows, columns, dtype=torch.bool, device=x.device).triu(columns - rows + 1)

    def call(x, hidden):
        y = softmax(x.masked_fill(hidden, unseen), -1)
        return y.masked_fill(hidden, unseen if task["options"]["logarithm"] else 0.0)

    return TorchCall(prepare, call, "the mask is given")


def rms_norm(task):
    import torch
    import torch.nn.functional as F

    options = task["options"]
    epsilon = options["epsilon"]

    def prepare(problem):
        names = ("x", "weight", "residual_sum") if options["residual"] else ("x", "weight")
        return [problem.inputs[name] for name in names]

    def norm(x, weight):
        y = F.rms_norm(x, x.shape[-1:], weight, epsilon)
        if options["quant"] == "none":
            return (y,)
        groups = y.float().unflatten(-1, (-1, 128 if options["quant"] == "group" else y.shape[-1]))
        scale = groups.abs().amax(-1, keepdim=True) / 448
        scale = torch.where(scale > 0, scale, 1.0)
        return (groups / scale).to(torch.float8_e4m3fn).flatten(-2), scale.squeeze(-1)

    def call(x, weight, residual_sum=None):
        if residual_sum is None:
            return norm(x, weight)
        total = residual_sum + x
        return (total, *norm(total, weight))

    return TorchCall(prepare, call)


def layer_norm(task):
    import torch.nn.functional as F

    names = ("x", "weight", "bias") if task["options"]["has_bias"] else ("x", "weight")

    def call(x, weight, bias=None):
        return F.layer_norm(x, x.shape[-1:], weight, bias, task["options"]["epsilon"])

    return TorchCall(lambda problem: [problem.inputs[name] for name in names], call)


def norm_backward(task):
    """torch keeps a layer norm's statistics from the forward call: they are computed before the clock starts."""
    import torch

    epsilon, layer = task["options"]["epsilon"], task["options"]["norm"] == "layer"

    def prepare(problem):
        x, weight, dy = (problem.inputs[name] for name in ("x", "weight", "dy"))
        if not layer:
            return x, weight, dy
        bias = torch.zeros_like(weight)
        _, mean, inverse = torch.native_layer_norm(x, x.shape[-1:], weight, bias, epsilon)
        return x, weight, dy, bias, mean, inverse

    def of_layer_norm(x, weight, dy, bias, mean, inverse):
        shape = x.shape[-1:]
        return torch.ops.aten.native_layer_norm_backward(dy, x, shape, mean, inverse, weight, bias, [True] * 3)

    def of_rms_norm(x, weight, dy):
        values, gradient = x.float(), dy.float() * weight.float()
        inverse = torch.rsqrt(values.square().mean(-1, keepdim=True) + epsilon)
        normalised = values * inverse
        dx = inverse * (gradient - normalised * (gradient * normalised).mean(-1, keepdim=True))
        return dx.to(x.dtype), (dy.float() * normalised).sum(0).to(weight.dtype)

    return TorchCall(prepare, of_layer_norm if layer else of_rms_norm, "statistics are given" if layer else "")


def usable_targets(problem, ignore_index):
    """torch takes indices of columns, and ignore_index."""
    target, columns = problem.inputs["target"], problem.inputs["logits"].shape[-1]
    return target.masked_fill((target < 0) | (target >= columns), ignore_index)


def cross_entropy(task):
    import torch
    import torch.nn.functional as F

    z_loss, ignore_index = task["options"]["z_loss"], task["options"]["ignore_index"]

    def call(logits, target):
        x = logits.float()
        lse = torch.logsumexp(x, -1)
        loss = F.cross_entropy(x, target, reduction="none", ignore_index=ignore_index)
        return (loss + (z_loss * lse.square()).masked_fill(target == ignore_index, 0.0) if z_loss else loss), lse

    return TorchCall(lambda problem: (problem.inputs["logits"], usable_targets(problem, ignore_index)), call)


def cross_entropy_backward(task):
    import torch

    z_loss, ignore_index = task["options"]["z_loss"], task["options"]["ignore_index"]

    def prepare(problem):
        target = usable_targets(problem, ignore_index)
        ignored = target == ignore_index
        column = target.masked_fill(ignored, 0)[:, None]
        dloss = problem.inputs["dloss"].masked_fill(ignored, 0.0)[:, None]
        return problem.inputs["logits"], column, problem.inputs["lse"][:, None], dloss

    def call(logits, column, lse, dloss):
        gradient = torch.exp(logits.float() - lse) * (1 + 2 * z_loss * lse)
        gradient.scatter_add_(-1, column, -torch.ones_like(lse))
        return (gradient * dloss).to(logits.dtype)

    return TorchCall(prepare, call, "not in place")


def transpose(task):
    return TorchCall(lambda problem: [problem.inputs["x"]], lambda x: x.transpose(-2, -1).contiguous())


def reduce(task):
    import torch

    options = task["options"]
    operation = {"sum": torch.sum, "max": torch.amax, "min": torch.amin, "argmax": torch.argmax,
                 "argmin": torch.argmin}[options["op"]]
    axis = {"rows": -1, "columns": 0, "all": None}[options["axis"]]

    def call(x):
        if axis is not None:
            return operation(x, axis)
        return operation(x.flatten(), 0).reshape(1)

    name = "x_bits" if options["any_bits"] else "x"
    return TorchCall(lambda problem: [problem.inputs[name]], call)


def histogram(task):
    """Counts of torch.histc are floats: exact up to 2^24."""
    import torch

    options = task["options"]

    def prepare(problem):
        x = problem.inputs["x"]
        return x.long() if options["dtype"] == "u8" else x, problem.sizes["K"]

    def call(x, bins):
        if options["dtype"] == "u8":
            return torch.bincount(x, minlength=bins).int()
        return torch.histc(x, bins, options["low"], options["high"]).int()

    return TorchCall(prepare, call)


def scan(task):
    import torch

    if task["options"]["exclusive"]:
        raise Refusal("torch.cumsum is inclusive")
    return TorchCall(lambda problem: [problem.inputs["x"]], lambda x: torch.cumsum(x, 0))


def top_k(task):
    """torch.topk leaves open which of equal elements come first: its indices may be wrong where there are ties."""
    import torch

    return TorchCall(lambda problem: (problem.inputs["x"], problem.sizes["K"]), lambda x, k: torch.topk(x, k))


def quantise(task):
    import torch
    import torch.nn.functional as F

    options = task["options"]
    if options["any_bits"]:
        raise Refusal("inputs of any bits hold NaN, which torch's amax spreads")

    def call(x):
        heads, elements = x.shape
        x = x.float()
        if options["scales"] == "tensor":
            groups = x.reshape(1, 1, -1)
        elif options["scales"] == "head":
            groups = x.unsqueeze(1)
        else:
            groups = F.pad(x, (0, -elements % 128)).unflatten(1, (-1, 128))
        low, high = groups.amin(-1, keepdim=True).clamp(max=0), groups.amax(-1, keepdim=True).clamp(min=0)
        limit = torch.full_like(low, 255.0 if options["codes"] == "affine" else 448.0)
        if options["codes"] == "affine":
            scale = (high / limit - low / limit).clamp(min=2.0**-64)
        else:
            scale = (torch.maximum(high, -low) / limit).clamp(min=2.0**-64)
        constant = low == high
        scale = torch.where(constant, 1.0, scale)
        if options["codes"] == "affine":
            zero = torch.where(constant, 128.0, (-low / scale).round().clamp(0, 255))
            y = ((groups / scale).round() + zero).clamp(0, 255).to(torch.uint8)
            tail = (zero.squeeze(-1).to(torch.uint8),)
        else:
            y = (groups / scale).clamp(-448, 448).to(torch.float8_e4m3fn).view(torch.uint8)
            tail = ()
        y = y.flatten(1)[:, :elements] if options["scales"] == "group" else y.reshape(heads, elements)
        return (y, scale.squeeze(-1), *tail)

    return TorchCall(lambda problem: [problem.inputs["x"]], call)


CALLS = {
    "f16_sdpa": attention, "fp8_sdpa": attention, "sim_fp8_sdpa": attention, "fp8_attention": engine_attention,
    "fp8_qkt": score_product, "sim_fp8_qkt": score_product, "gemm_bf16": matrix_product, "gemm_fp8": coded_product,
    "grouped_gemm": grouped_product, "softmax": softmax, "rms_norm": rms_norm, "layer_norm": layer_norm,
    "norm_backward": norm_backward, "cross_entropy": cross_entropy, "cross_entropy_backward": cross_entropy_backward,
    "transpose": transpose, "reduce": reduce, "histogram": histogram, "scan": scan, "top_k": top_k,
    "quantise": quantise,
}


def name_of(dtype):
    return {"torch.float16": "f16", "torch.bfloat16": "bf16", "torch.float32": "f32"}[str(dtype)]
