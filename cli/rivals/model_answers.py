"""Runs before describe_problem.py: what a Model answers, whether twice the same, and which layers decide that."""


def answer_of(constructed, inputs):
    """Whether the Model's outputs of these inputs are finite; None where it fails, or is too large to be tried."""
    try:
        torch.manual_seed(42)
        model = constructed()
        if sum(one.numel() for one in [*inputs, *model.parameters()]) > 1 << 24:
            return None
        with torch.no_grad():
            outputs = outputs_of(model, [one.clone() for one in inputs])
        return all(bool(torch.isfinite(one).all()) for one in outputs if one.is_floating_point())
    except Exception:
        return None


def differs_when_repeated(constructed, inputs):
    """Whether two calls of one Model on the same inputs give two answers; False where it fails, or is too large."""
    try:
        model = constructed()
        if sum(one.numel() for one in [*inputs, *model.parameters()]) > 1 << 24:
            return False
        with torch.no_grad():
            first, second = ([one.clone() for one in outputs_of(model, [one.clone() for one in inputs])] for _ in range(2))
        return not all(torch.allclose(one.double(), other.double(), rtol=1e-3, equal_nan=True) for one, other in zip(first, second))
    except Exception:
        return False


def drawing_layers(model):
    """The layers that draw random numbers at each call."""
    def chance(layer):
        if isinstance(layer, torch.nn.RReLU):
            return float(layer.upper > layer.lower)
        p = getattr(layer, "p" if isinstance(layer, torch.nn.modules.dropout._DropoutNd) else "dropout", 0)
        # A recurrent network has it between its layers.
        return p if isinstance(p, (int, float)) and getattr(layer, "num_layers", 2) > 1 else 0
    return [f"{type(one).__name__} {name}".strip() for name, one in model.named_modules() if one.training and chance(one) > 0]


def batch_layers(model):
    """The layers that take mean and variance from the batch that they are given."""
    return [f"{type(one).__name__} {name}".strip() for name, one in model.named_modules()
            if isinstance(one, torch.nn.modules.batchnorm._BatchNorm) and (one.training or one.running_mean is None)]
