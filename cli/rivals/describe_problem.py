"""What a problem of KernelBench or robust-kbench computes on, for evo: prints a line of JSON.
usage: python3 - FILE WORDS < describe_problem.py, WORDS: those that no input may be called

Inputs are made as torch's meta tensors, which have sizes and no values; parameters of the Model are inputs, too. Sizes of
dims become parameters of the task, one for each different size; the problem is tried with other sizes to see whether its
outputs follow them. What a parameter of the Model has keeps its size."""

import contextlib
import importlib.util
import inspect
import json
import math
import os
import re
import sys


#: What the problem prints goes elsewhere.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


class Said(BaseException):
    """The answer is given."""


def say(answer):
    print(json.dumps(answer), file=answers, flush=True)
    raise Said


def end(error):
    say({"error": " ".join(str(error).split())[:400]})


try:
    import torch
except ImportError as error:
    with contextlib.suppress(Said):
        end(f"torch is needed to read it, and this python has none ({error}): EVO_PYTHON names another one")
    raise SystemExit(0)

NAMES = {"torch.float32": "f32", "torch.float16": "f16", "torch.bfloat16": "bf16", "torch.float64": "f64",
         "torch.int64": "s64", "torch.int32": "s32", "torch.int16": "s16", "torch.int8": "s8", "torch.uint8": "u8",
         "torch.bool": "bool"}
#: How problems of these judges are called; a part of reference.py, too.
SHARED = '''
import inspect as _inspect
import torch as _torch


def called(function, given):
    """Arguments are a list, keywords, or a list of both."""
    if isinstance(given, dict):
        return function(**given)
    if len(given) == 2 and isinstance(given[0], (list, tuple)) and isinstance(given[1], dict):
        return function(*given[0], **given[1])
    return function(*given)


def listed(inputs, model):
    """What get_inputs() gives: a list, or a dict in the order of forward()'s parameters."""
    if isinstance(inputs, dict):
        order = list(_inspect.signature(model.forward).parameters)
        return {name: inputs[name] for name in sorted(inputs, key=lambda name: order.index(name) if name in order else len(order))}
    return [inputs] if isinstance(inputs, _torch.Tensor) or not hasattr(inputs, "__iter__") else list(inputs)


def given_to(model, arguments):
    """The model's outputs: a list is given by position, a dict by name."""
    return model(**arguments) if isinstance(arguments, dict) else model(*arguments)


def tensors_in(inputs):
    """The tensors of nested lists, tuples and dicts, in their order."""
    if isinstance(inputs, (tuple, list, dict)):
        return [one for each in (inputs.values() if isinstance(inputs, dict) else inputs) for one in tensors_in(each)]
    return [inputs] if isinstance(inputs, _torch.Tensor) else []


def flat(outputs):
    """The tensors of nested tuples, lists and dicts, in their order. One without dims has one of one element here."""
    if isinstance(outputs, (tuple, list, dict)):
        return tuple(one for each in (outputs.values() if isinstance(outputs, dict) else outputs) for one in flat(each))
    return (outputs.reshape(1) if isinstance(outputs, _torch.Tensor) and outputs.dim() == 0 else outputs,)


FACTORIES = {"rand": 0, "randn": 0, "randint": 0, "zeros": 0, "ones": 0, "empty": 0, "full": 0, "randperm": 0, "arange": 0,
             "eye": 0, "linspace": 2}  # Sizes begin at this argument.


def _on_cpu(function):
    """The function for problems that ask for a GPU, where there is none."""

    def names_gpu(one):
        return isinstance(one, (str, _torch.device)) and str(one).startswith("cuda")

    return lambda *arguments, **named: function(*(one for one in arguments if not names_gpu(one)),
                                                **{key: one for key, one in named.items() if not names_gpu(one)})


if not _torch.cuda.is_available():
    for _owner, _names in ((_torch, [*FACTORIES, "tensor", "as_tensor", "rand_like", "randn_like", "zeros_like", "ones_like"]),
                           (_torch.Tensor, ["to"]), (_torch.nn.Module, ["to"])):
        for _name in _names:
            setattr(_owner, _name, _on_cpu(getattr(_owner, _name)))
    _torch.Tensor.cuda = _torch.nn.Module.cuda = lambda self, *_, **__: self


def with_sizes(function, others):
    """What the function gives where torch's factories are asked for the sizes `others` ({SIZE: OTHER}) in the place of
    the problem's."""
    kept = {name: getattr(_torch, name) for name in FACTORIES}

    def other(one):
        if isinstance(one, (tuple, list)):
            return tuple(map(other, one))
        return others.get(one, one) if isinstance(one, int) and not isinstance(one, bool) else one

    def at_other_sizes(name, made):
        def factory(*arguments, **named):
            first, last = FACTORIES[name], 1 if name == "full" else len(arguments)
            sizes = {key: other(named[key]) for key in ("size", "high", "n", "end", "steps") if key in named}
            return made(*arguments[:first], *map(other, arguments[first:last]), *arguments[last:], **{**named, **sizes})

        return factory

    try:
        for name, made in kept.items():
            setattr(_torch, name, at_other_sizes(name, made))
        return function()
    finally:
        for name, made in kept.items():
            setattr(_torch, name, made)
'''
exec(SHARED)


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
    return {"name": name, "dtype": NAMES[str(tensor.dtype)], "dims": list(tensor.shape) or ["1"], **more}


def draw_of_parameter(tensor):
    """Weights such that what they make is about as large as what they are given; others as the regimes draw."""
    return {"draw": f"normal(0, {math.sqrt(tensor.shape[0] / tensor.numel()):.4g})"} if tensor.dim() > 1 else {}


def made_inputs(problem, settings, others):
    """The inputs with values at other sizes; None where they cannot be made."""
    torch.manual_seed(42)
    try:
        made = with_sizes(lambda: listed(problem.get_inputs(**settings), problem.Model), others)
        return [one.detach().cpu() for one in tensors_in(made)]
    except Exception:
        return None


def promises(tensor):
    """What holds of these values and would not of values of any sign: words for people, a draw of evo's that keeps it,
    and whether it is more than a sign or a range."""
    if not tensor.is_floating_point() or tensor.numel() < 64:
        return {}
    values = tensor.double()
    found, draw = [], None
    least, most = values.min().item(), values.max().item()
    square = values.dim() >= 2 and values.shape[-1] == values.shape[-2]
    if square and torch.equal(values, torch.diag_embed(torch.diagonal(values, dim1=-2, dim2=-1))):
        found.append("diagonal")
    elif square and torch.equal(values, values.triu()):
        found.append("upper triangular")
    elif square and torch.equal(values, values.tril()):
        found.append("lower triangular")
    elif square and torch.equal(values, values.transpose(-1, -2)):
        found.append("symmetric")
    different = torch.unique(values)
    if different.numel() <= 4:
        found.append("of the values " + ", ".join(f"{one:g}" for one in different.tolist()) + " alone")
    elif not found and (values == 0).double().mean().item() > 0.2:
        found.append(f"zero in {100 * (values == 0).double().mean().item():.0f} % of its elements")
    rows = values.sum(-1)
    if values.dim() and values.shape[-1] > 1 and torch.allclose(rows, rows.new_ones(()).expand_as(rows), atol=1e-3):
        found.append("of rows that sum to 1")
    if values.dim() and values.shape[-1] > 1 and torch.equal(values, values.sort(-1).values):
        found.append("of rows that never fall")
    lengths = values.square().sum(-1)
    if values.dim() > 1 and values.shape[-1] > 4 and torch.allclose(lengths, lengths.new_ones(()).expand_as(lengths), atol=1e-3):
        found.append("of rows of length 1")
    structure = bool(found)
    if different.numel() > 4 and least >= 0:
        whole = abs(round(most) - most) < 0.02 * most or most <= 1
        found.append("of numbers from 0 to 1" if most <= 1 else "of numbers that are not negative")
        if len(found) == 1 and whole and abs(values.mean().item() / most - 0.5) < 0.1:
            draw = f"uniform(0, {max(1, round(most))})"
    elif different.numel() > 4 and most <= 0:
        found.append("of numbers that are not positive")
        structure = True
    elif not found and different.numel() > 4 and max(-least, most) <= 1:
        found.append("of numbers from -1 to 1")
        if abs(values.square().mean().item() - 1 / 3) < 0.05:
            draw = "uniform(-1, 1)"
    return {"promises": found, "structure": structure, **({"promised_draw": draw} if draw else {})} if found else {}


def draw_of_integers(tensor, parameters):
    """As torch.randint drew them; the end may be a size. Others are made."""
    if not hasattr(tensor, "evo_range"):
        return {} if tensor.is_floating_point() else {"made": True}
    low, high = tensor.evo_range
    return {"draw": f"integers({low}, {f'{parameters[high]} - 1' if high in parameters else high - 1})"}


def source_of(value, names):
    """A call's argument as Python: tensors are those of `t`, by the next of the names; numbers and texts stay."""
    if isinstance(value, torch.Tensor):
        return f"t[{names.pop(0)!r}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {source_of(one, names)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        listed = "".join(f"{source_of(one, names)}, " for one in value)
        return f"[{listed}]" if isinstance(value, list) else f"({listed})"
    if isinstance(value, (torch.dtype, torch.device)):
        return f"_torch.{value}" if isinstance(value, torch.dtype) else repr(str(value))
    if value is not None and not isinstance(value, (bool, int, float, str)) or isinstance(value, float) and not math.isfinite(value):
        end(f"an input is a {type(value).__name__}, which is no tensor, number or text, nor a list or dict of these: give it to Model with get_init_inputs()")
    return repr(value)


def names_of_inputs(inputs, of_parameters):
    """A name for each tensor: the parameter's, and where the tensor stands in it."""
    if isinstance(inputs, torch.Tensor):
        return [of_parameters]
    pairs = inputs.items() if isinstance(inputs, dict) else enumerate(inputs) if isinstance(inputs, (list, tuple)) else ()
    return [name for key, one in pairs for name in names_of_inputs(one, f"{of_parameters}_{key}")]


def outputs_of(model, inputs):
    outputs = flat(model.answer(inputs))
    for output in outputs:
        if not isinstance(output, torch.Tensor):
            end("an output is no tensor")
    return outputs


def sizes_of_outputs(model, inputs, made):
    try:
        return outputs_of(model.to("meta"), inputs)
    except (RuntimeError, NotImplementedError) as error:  # Something has no meta tensors.
        if sum(one.numel() for one in inputs) > 1 << 22:
            raise error
        with torch.no_grad():
            return [one.to("meta") for one in outputs_of(model.to_empty(device="cpu"), made())]


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


def of_any_sign(inputs, kept):
    """Inputs of floats become normal numbers, but those that are kept."""
    return [torch.randn_like(one) if one.is_floating_point() and not keep else one for one, keep in zip(inputs, kept)]


def task_name(name, taken):
    """Parameters of the task are single capitals, and words of evo's have a meaning."""
    name = re.sub(r"\W", "_", name, flags=re.ASCII)
    name = name if re.match(r"[A-Za-z_]", name) else "x_" + name
    name = name + "_" if len(name) == 1 and name.isupper() else name
    while name in taken or name in WORDS:
        name += "_"
    taken.add(name)
    return name


REFERENCE = '''

# ---- For evo: what the Model computes of inputs and parameters.
@SHARED@

INPUTS = @INPUTS@


def arguments_of(t):
    """What forward() is called with, of the inputs' tensors by their names."""
    return @CALL@


#: The Model's parameters by the names of the task's inputs.
PARAMETERS = @PARAMETERS@
#: Tensors without dims, which the task has as ones of one element.
SCALARS = @SCALARS@


def new_model(kind, tensors):
    """A Model of this class with the parameters among `tensors`, on their device."""
    _torch.manual_seed(42)
    model = @CONSTRUCTED@.to(next(iter(tensors.values())).device)
    own = dict(model.named_parameters())
    if set(own) != set(PARAMETERS.values()):  # Others have them in the same order.
        if [list(one.shape) or [1] for one in own.values()] != [list(tensors[name].shape) or [1] for name in PARAMETERS]:
            raise ValueError(f"{kind.__name__} has the parameters {list(own)}, and not those of Model: {list(PARAMETERS.values())}")
        own = dict(zip(PARAMETERS.values(), own.values()))
    for name, of_model in PARAMETERS.items():
        own[of_model].data = tensors[name].reshape(own[of_model].shape)
    return model


#: The problem's own sizes.
SIZES = @SIZES@


def make_inputs(**sizes):
    """What get_inputs() gives, at these sizes, for inputs with "draw": "@reference.py" in task.json."""
    others = {SIZES[name]: size for name, size in sizes.items() if SIZES[name] != size}
    return dict(zip(INPUTS, tensors_in(with_sizes(lambda: listed(get_inputs(**@SETTINGS@), Model), others))))


def reference(@ARGUMENTS@, **_):
    tensors = {@NAMED@}
    tensors = {name: one.reshape(()) if name in SCALARS else one for name, one in tensors.items()}
    # In double precision: what a kernel of the problem's precision errs by is then its own error.
    tensors = {name: one.double() if one.is_floating_point() else one for name, one in tensors.items()}
    model = new_model(Model, tensors).double()
    return flat(given_to(model, arguments_of(tensors)))
'''


def reference_text(inputs, call, parameters, constructed, scalars, sizes, settings):
    names = [*inputs, *parameters]
    values = {"@SHARED@": SHARED.strip(), "@SIZES@": repr(sizes), "@SETTINGS@": repr(settings), "@INPUTS@": repr(inputs), "@CALL@": call,
              "@PARAMETERS@": repr(parameters), "@CONSTRUCTED@": constructed, "@SCALARS@": repr(scalars), "@ARGUMENTS@": ", ".join(names), "@NAMED@": ", ".join(f'"{name}": {name}' for name in names)}
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
        make_model = lambda: problem.Model(**init_settings)
        constructed = f"kind(**{init_settings!r})"
    else:
        make_model = lambda: called(problem.Model, problem.get_init_inputs() if hasattr(problem, "get_init_inputs") else [])
        constructed = 'called(kind, get_init_inputs() if "get_init_inputs" in globals() else [])'
    try:
        given = without_values(lambda: listed(problem.get_inputs(**input_settings), problem.Model))
    except (RuntimeError, NotImplementedError, TypeError):  # Something has no meta tensors.
        given = listed(problem.get_inputs(**input_settings), problem.Model)
    inputs = tensors_in(given)
    if not inputs:
        end("it has no inputs")
    taken = {"_", "reference", "new_model", "make_inputs", "arguments_of", "Model", "called", "listed", "given_to", "flat", "tensors_in"}
    of_forward = list(inspect.signature(problem.Model.forward).parameters)[1:]
    positions = [of_forward[i] if i < len(of_forward) else f"x{i}" for i in range(len(given))]  # x3: of *args
    named = given.items() if isinstance(given, dict) else zip(positions, given)
    names = [task_name(name, taken) for parameter, one in named for name in names_of_inputs(one, parameter)]
    call = source_of(given, list(names))

    def new_model():
        model = make_model()
        model.answer = lambda tensors: given_to(model, eval(call, {"t": dict(zip(names, tensors)), "_torch": torch}))
        return model

    model = new_model()
    parameters = {task_name(name.replace(".", "_"), taken): name for name, _ in model.named_parameters()}
    weights = [one for _, one in model.named_parameters()]
    draws = inputs
    inputs = [one.to("meta") for one in inputs]
    outputs = sizes_of_outputs(model, inputs, lambda: made_inputs(problem, input_settings, {}))
    sizes = list(dict.fromkeys(size for one in inputs for size in one.shape if size > 1))
    if len(sizes) > 26:
        end("its inputs have more than 26 different sizes")
    letters = {size: chr(ord("A") + i) for i, size in enumerate(sizes)}
    small = small_sizes(model, inputs, outputs, sizes, {size for one in weights for size in one.shape})

    large = sum(one.numel() for one in inputs) > 1 << 24
    others = {size: 64 + 8 * i for i, size in enumerate(sizes) if size > 64} if large else {}  # Enough to tell by.
    real = made_inputs(problem, input_settings, others)
    if real is None or len(real) != len(inputs):
        real = [torch.empty(0)] * len(inputs)
    found = [promises(one) for one in real]
    if drawing_layers(model):
        end(f"its Model draws random numbers at each call ({', '.join(drawing_layers(model))}), so no kernel can give its answer: "
            "take them out, or say self.eval() in __init__")
    if any(differs_when_repeated(new_model, one) for one in (real, small and made_inputs(problem, input_settings, small)) if one):
        end("its Model gives two answers to one input: it draws random numbers, or keeps something from call to call, so no kernel "
            "can give its answer: take that out")
    tried = next((one for one in (real, small and made_inputs(problem, input_settings, small)) if one and answer_of(new_model, one)), None)
    if tried and answer_of(new_model, of_any_sign(tried, [False] * len(tried))) is False:
        # It takes logarithms or roots, or angles of what is at most 1: of what promises something, or else of anything.
        enough = answer_of(new_model, of_any_sign(tried, found))
        found = [{**one, "structure": True} if one or not enough else one for one in found]
    needs = any(one.get("structure") for one in found) or not all(one.is_floating_point() for one in draws)
    if small and not large and needs:
        # Other sizes are of no use where the problem's own inputs cannot be made of them, or its indices are of its own.
        smaller = made_inputs(problem, input_settings, small)
        fits = smaller and [list(one.shape) for one in smaller] == [[small.get(size, size) for size in one.shape] for one in inputs]
        if not fits or answer_of(new_model, smaller) is None and answer_of(new_model, real) is not None:
            small = {}
    def dims_of_output(one):
        """A size that the output does not follow is an input's only in the same place: an image of 112 x 112 is none of
        112 channels."""
        return [size if size in small or any(other.dim() > i and other.shape[i] == size for other in inputs) else str(size)
                for i, size in enumerate(one.shape)] or ["1"]

    reference = reference_text(names, call, parameters, constructed,
                               [name for name, one in zip([*names, *parameters], [*inputs, *weights]) if one.dim() == 0],
                               {name: size for size, name in letters.items()}, input_settings)
    say({
        "kind": "robust-kbench" if robust else "KernelBench",
        "inputs": [described(name, one, **draw_of_integers(draw, letters), **promised)
                   for name, one, draw, promised in zip(names, inputs, draws, found)] +
                  [described(name, one, **draw_of_parameter(one)) for name, one in zip(parameters, weights)],
        "outputs": [{**described(task_name("y" if len(outputs) == 1 else f"y{i}", taken), one), "dims": dims_of_output(one)}
                    for i, one in enumerate(outputs)],
        "parameters": {name: size for size, name in letters.items()},
        "small": {letters[size]: small.get(size, size) for size in sizes} if small else None,
        "reference": reference,
        "of_batch": batch_layers(model),
        "torch": torch.__version__,
    })


WORDS = set(sys.argv[2].split())
try:
    main(sys.argv[1])
except Said:
    pass
except (Exception, SystemExit) as error:
    with contextlib.suppress(Said):
        end(f"{type(error).__name__}: {error}")
