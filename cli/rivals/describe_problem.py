"""What a problem of KernelBench computes on, for evo: prints a line of JSON. usage: python3 - FILE < describe_problem.py

Inputs are made as torch's meta tensors, which have sizes and no values. Sizes of dims become parameters, one for each
different size; the problem is tried with other sizes, too, to see whether its outputs follow them."""

import importlib.util
import inspect
import json
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
         "torch.bool": "boolean"}
FACTORIES = ("rand", "randn", "randint", "zeros", "ones", "empty", "full", "randperm", "arange", "linspace")


def without_values(function):
    """Runs it with torch's factories making meta tensors."""
    kept = {name: getattr(torch, name) for name in FACTORIES}

    def on_meta(made):
        def factory(*arguments, **named):
            named.pop("device", None)
            named.pop("generator", None)
            try:
                return made(*arguments, device="meta", **named)
            except (RuntimeError, NotImplementedError):
                return made(*arguments, **named)

        return factory

    try:
        for name, made in kept.items():
            setattr(torch, name, on_meta(made))
        return function()
    finally:
        for name, made in kept.items():
            setattr(torch, name, made)


def described(name, tensor):
    if str(tensor.dtype) not in NAMES:
        end(f"{name} has dtype {tensor.dtype}, which evo does not have")
    return {"name": name, "dtype": NAMES[str(tensor.dtype)], "dims": list(tensor.shape)}


def outputs_of(model, inputs):
    outputs = model(*inputs)
    outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    for output in outputs:
        if not isinstance(output, torch.Tensor):
            end("an output is no tensor")
    return outputs


def main(path):
    spec = importlib.util.spec_from_file_location("problem", path)
    problem = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(problem)
    for needed in ("Model", "get_inputs"):
        if not hasattr(problem, needed):
            end(f"it has no {needed}: a problem of KernelBench has class Model and get_inputs()")
    model = problem.Model(*(problem.get_init_inputs() if hasattr(problem, "get_init_inputs") else []))
    if any(True for _ in model.parameters()):
        end("its Model has parameters: evo has no inputs for them")
    inputs = without_values(problem.get_inputs)
    if not all(isinstance(one, torch.Tensor) for one in inputs):
        end("an input is no tensor: give it to Model with get_init_inputs()")
    names = list(inspect.signature(model.forward).parameters)[: len(inputs)]
    names = [name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else f"x{i}" for i, name in enumerate(names)]
    names = [name + "_" if len(name) == 1 and name.isupper() else name for name in names]  # Parameters are capitals.
    inputs = [one.to("meta") for one in inputs]
    outputs = outputs_of(model, inputs)
    sizes = list(dict.fromkeys(size for one in inputs for size in one.shape if size > 1))
    if len(sizes) > 26:
        end("its inputs have more than 26 different sizes")
    parameters = {size: chr(ord("A") + i) for i, size in enumerate(sizes)}
    # Small sizes, all different, so that a dim of an output shows which parameter it is.
    small = {size: 16 + 8 * i for i, size in enumerate(sizes)}
    flexible = True
    try:
        others = [torch.empty([small.get(size, size) for size in one.shape], dtype=one.dtype, device="meta")
                  for one in inputs]
        for one, other in zip(outputs, outputs_of(model, others)):
            flexible &= list(other.shape) == [small.get(size, size) for size in one.shape]
    except Exception:
        flexible = False
    print(json.dumps({
        "inputs": [described(name, one) for name, one in zip(names, inputs)],
        "outputs": [described("y" if len(outputs) == 1 else f"y{i}", one) for i, one in enumerate(outputs)],
        "parameters": {name: size for size, name in parameters.items()},
        "small": {parameters[size]: small[size] for size in sizes} if flexible else None,
        "torch": torch.__version__,
    }))


try:
    main(sys.argv[1])
except SystemExit:
    raise
except Exception as error:
    end(f"{type(error).__name__}: {error}")
