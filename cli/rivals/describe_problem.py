"""What a problem of KernelBench or robust-kbench computes on, for evo: prints a line of JSON. usage: python3 - FILE < describe_problem.py

Inputs are made as torch's meta tensors, which have sizes and no values; parameters of the Model are inputs, too. Sizes of
dims become parameters of the task, one for each different size; the problem is tried with other sizes to see whether its
outputs follow them. What a parameter of the Model has keeps its size."""

import importlib.util
import inspect
import json
import math
import os
import re
import sys


def end(error):
    print(json.dumps({"error": " ".join(str(error).split())[:400]}))
    raise SystemExit(0)


try:
    import torch
except ImportError as error:
    end(f"torch is needed to read it, and this python has none ({error}): EVO_PYTHON names another one")

NAMES = {"torch.float32": "f32", "torch.float16": "f16", "torch.bfloat16": "bf16", "torch.float64": "f64",
         "torch.int64": "s64", "torch.int32": "s32", "torch.int16": "s16", "torch.int8": "s8", "torch.uint8": "u8",
         "torch.bool": "bool"}
FACTORIES = ("rand", "randn", "randint", "zeros", "ones", "empty", "full", "randperm", "arange", "linspace")


def without_values(function):
    """Runs it with torch's factories making meta tensors."""
    kept = {name: getattr(torch, name) for name in FACTORIES}

    def on_meta(name, made):
        def factory(*arguments, **named):
            named.pop("device", None)
            named.pop("generator", None)
            try:
                tensor = made(*arguments, device="meta", **named)
            except (RuntimeError, NotImplementedError):
                tensor = made(*arguments, **named)
            if name == "randint":
                whole = [*arguments[:2], named.get("low"), named.get("high")]
                whole = [number for number in whole if isinstance(number, int)]
                tensor.evo_range = [0] * (2 - len(whole)) + whole
            return tensor

        return factory

    try:
        for name, made in kept.items():
            setattr(torch, name, on_meta(name, made))
        return function()
    finally:
        for name, made in kept.items():
            setattr(torch, name, made)


def described(name, tensor, **more):
    if str(tensor.dtype) not in NAMES:
        end(f"{name} has dtype {tensor.dtype}, which evo does not have")
    return {"name": name, "dtype": NAMES[str(tensor.dtype)], "dims": list(tensor.shape), **more}


def draw_of_parameter(tensor):
    """Weights such that what they make is about as large as what they are given; others as the regimes draw."""
    return {"draw": f"normal(0, {math.sqrt(tensor.shape[0] / tensor.numel()):.4g})"} if tensor.dim() > 1 else {}


def draw_of_integers(tensor, parameters):
    """As torch.randint drew them; the end may be a size."""
    if not hasattr(tensor, "evo_range"):
        return {}
    low, high = tensor.evo_range
    return {"draw": f"integers({low}, {f'{parameters[high]} - 1' if high in parameters else high - 1})"}


def outputs_of(model, inputs):
    outputs = model(*inputs)
    outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    for output in outputs:
        if not isinstance(output, torch.Tensor):
            end("an output is no tensor")
    return outputs


def follows(model, inputs, outputs, small):
    """Whether the outputs have the small sizes where the inputs have them."""

    def smaller(one):
        return [small.get(size, size) for size in one.shape]

    try:
        others = outputs_of(model, [torch.empty(smaller(one), dtype=one.dtype, device="meta") for one in inputs])
    except Exception:
        return False
    return all(list(other.shape) == smaller(one) for one, other in zip(outputs, others))


def small_sizes(model, inputs, outputs, sizes, fixed):
    """A small size for each one that may change. All are different, so that a dim shows which size it is."""
    free = (size for size in range(16, 1 << 20, 8) if size not in sizes and size not in fixed)
    small = {size: next(free) for size in sizes if size not in fixed}
    small = {size: other for size, other in small.items() if follows(model, inputs, outputs, {size: other})}
    return small if follows(model, inputs, outputs, small) else {}


def task_name(name, taken):
    """Parameters of the task are single capitals."""
    name = re.sub(r"\W", "_", name)
    name = name if re.match(r"[A-Za-z_]", name) else "x_" + name
    name = name + "_" if len(name) == 1 and name.isupper() else name
    while name in taken:
        name += "_"
    taken.add(name)
    return name


REFERENCE = '''

# ---- For evo: what the Model computes of inputs and parameters.
import torch as _torch

INPUTS = @INPUTS@
#: The Model's parameters by the names of the task's inputs.
PARAMETERS = @PARAMETERS@


def new_model(kind, tensors):
    """A Model of this class with the parameters among `tensors`, on their device."""
    _torch.manual_seed(42)
    model = kind(@CONSTRUCTED@).to(next(iter(tensors.values())).device)
    own = dict(model.named_parameters())
    if set(own) != set(PARAMETERS.values()):  # Others have them in the same order.
        if [one.shape for one in own.values()] != [tensors[name].shape for name in PARAMETERS]:
            raise ValueError(f"{kind.__name__} has the parameters {list(own)}, and not those of Model: {list(PARAMETERS.values())}")
        own = dict(zip(PARAMETERS.values(), own.values()))
    for name, of_model in PARAMETERS.items():
        own[of_model].data = tensors[name]
    return model


def reference(@ARGUMENTS@, **_):
    tensors = {@NAMED@}
    # In double precision: what a kernel of the problem's precision errs by is then its own error.
    tensors = {name: one.double() if one.is_floating_point() else one for name, one in tensors.items()}
    model = new_model(Model, tensors).double()
    return model(*(tensors[name] for name in INPUTS))
'''


def reference_text(inputs, parameters, constructed):
    names = [*inputs, *parameters]
    values = {"@INPUTS@": repr(inputs), "@PARAMETERS@": repr(parameters), "@CONSTRUCTED@": constructed,
              "@ARGUMENTS@": ", ".join(names), "@NAMED@": ", ".join(f'"{name}": {name}' for name in names)}
    text = REFERENCE
    for key, value in values.items():
        text = text.replace(key, value)
    return text


def settings(path):
    """The first setting of a problem of robust-kbench: keywords of get_inputs and of Model."""
    config = os.path.join(os.path.dirname(os.path.abspath(path)), "config_forward.json")
    if not os.path.exists(config):
        end("it has forward_fn, as a problem of robust-kbench, but no config_forward.json beside it")
    with open(config) as file:
        config = json.load(file)
    shared, inputs, init = ((config.get(f"single_{what}_configs") or [{}])[0] for what in ("shared", "input", "init"))
    return {**inputs, **shared}, {**init, **shared}


def main(path):
    spec = importlib.util.spec_from_file_location("problem", path)
    problem = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(problem)
    for needed in ("Model", "get_inputs"):
        if not hasattr(problem, needed):
            end(f"it has no {needed}: a problem of KernelBench or robust-kbench has class Model and get_inputs()")
    robust = hasattr(problem, "forward_fn")
    input_settings, init_settings = settings(path) if robust else ({}, {})
    if robust:
        model = problem.Model(**init_settings)
        constructed = ", ".join(f"{name}={value!r}" for name, value in init_settings.items())
    else:
        model = problem.Model(*(problem.get_init_inputs() if hasattr(problem, "get_init_inputs") else []))
        constructed = '*(get_init_inputs() if "get_init_inputs" in globals() else [])'
    model.to("meta")
    inputs = without_values(lambda: problem.get_inputs(**input_settings))
    if not all(isinstance(one, torch.Tensor) for one in inputs):
        end("an input is no tensor: give it to Model with get_init_inputs()")
    if not inputs:
        end("it has no inputs")
    taken = {"_", "reference", "new_model"}
    names = list(inspect.signature(model.forward).parameters)[: len(inputs)]
    names += [f"x{i}" for i in range(len(names), len(inputs))]  # of *args
    names = [task_name(name, taken) for name in names]
    parameters = {task_name(name.replace(".", "_"), taken): name for name, _ in model.named_parameters()}
    weights = [one for _, one in model.named_parameters()]
    draws = [one for one in inputs]
    inputs = [one.to("meta") for one in inputs]
    outputs = outputs_of(model, inputs)
    sizes = list(dict.fromkeys(size for one in inputs for size in one.shape if size > 1))
    if len(sizes) > 26:
        end("its inputs have more than 26 different sizes")
    letters = {size: chr(ord("A") + i) for i, size in enumerate(sizes)}
    small = small_sizes(model, inputs, outputs, sizes, {size for one in weights for size in one.shape})
    print(json.dumps({
        "kind": "robust-kbench" if robust else "KernelBench",
        "inputs": [described(name, one, **draw_of_integers(draw, letters)) for name, one, draw in zip(names, inputs, draws)] +
                  [described(name, one, **draw_of_parameter(one)) for name, one in zip(parameters, weights)],
        "outputs": [described("y" if len(outputs) == 1 else f"y{i}", one) for i, one in enumerate(outputs)],
        "parameters": {name: size for size, name in letters.items()},
        "small": {letters[size]: small.get(size, size) for size in sizes} if small else None,
        "reference": reference_text(names, parameters, constructed),
        "torch": torch.__version__,
    }))


try:
    main(sys.argv[1])
except SystemExit:
    raise
except Exception as error:
    end(f"{type(error).__name__}: {error}")
