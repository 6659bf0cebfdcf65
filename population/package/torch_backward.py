#: Whether gradients are computed: by torch, from reference() in its own operations, which keeps the inputs until then.
backward_by_torch = os.environ.get("EVO_BACKWARD") == "torch"


def _keep_inputs(ctx, inputs, output):
    ctx.others = None
    if backward_by_torch:
        ctx.others = [None if isinstance(given, torch.Tensor) else given for given in inputs]
        ctx.save_for_backward(*(given for given in inputs if isinstance(given, torch.Tensor)))


def _backward(ctx, *gradients):
    if ctx.others is None:
        raise RuntimeError(
            "__NAME__.__TASK__ has no backward: call it under torch.no_grad(), detach its inputs, or set "
            "__NAME__.backward_by_torch = True"
        )
    kept = iter(ctx.saved_tensors)
    inputs = [next(kept) if other is None else other for other in ctx.others]
    wanted = [number for number, needed in enumerate(ctx.needs_input_grad) if needed]
    with torch.enable_grad():
        for number in wanted:
            inputs[number] = inputs[number].detach().requires_grad_()
        results = _by_reference(*inputs)
    pairs = [(a, b.to(a.dtype)) for a, b in zip(results, gradients) if b is not None and a.requires_grad]
    found = [None] * len(inputs)
    if pairs:
        ends, seeds = zip(*pairs)
        starts = [inputs[number] for number in wanted]
        for number, gradient in zip(wanted, torch.autograd.grad(ends, starts, seeds, allow_unused=True)):
            found[number] = gradient
    return tuple(found)


torch.library.register_autograd(add_op_namespace_prefix("__TASK__"), _backward, setup_context=_keep_inputs)
