def _no_backward(context, *gradients):
    raise RuntimeError(
        "__NAME__.__TASK__ has no backward: call it under torch.no_grad(), or detach its inputs"
    )


torch.library.register_autograd(add_op_namespace_prefix("__TASK__"), _no_backward)
