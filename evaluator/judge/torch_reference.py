"""Runs a task's reference.py for evo: inputs are files, outputs become files. Lines of JSON over descriptor 3.

It gets tensors of torch or, where there is no torch, arrays of numpy."""

import contextlib
import ctypes
import json
import os

asked, answers = os.fdopen(3, "r"), os.fdopen(os.dup(3), "w")


def answer(message):
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def in_one_line(error):
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]


NAMES = {
    "bool": "bool", "u8": "uint8", "s8": "int8", "u16": "uint16", "s16": "int16", "u32": "uint32", "s32": "int32",
    "u64": "uint64", "s64": "int64", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "f16": "float16",
    "bf16": "bfloat16", "f32": "float32", "f64": "float64",
}


def dtype_named(name):
    if not hasattr(torch, NAMES.get(name, "?")):
        raise TypeError(f"torch has no dtype {name}")
    return getattr(torch, NAMES[name])


def numpy_dtype(name):
    try:
        return numpy.dtype(NAMES[name])
    except (KeyError, TypeError):
        raise TypeError(f"numpy has no dtype {name}") from None


def read_array(spec):
    flat = numpy.fromfile(spec["file"], numpy_dtype(spec["dtype"]))
    if "strides" not in spec:
        return flat.reshape(spec["dims"])
    strides = [stride * flat.itemsize for stride in spec["strides"]]
    return numpy.lib.stride_tricks.as_strided(flat, spec["dims"], strides)


def read_tensor(spec):
    if torch is None:
        return read_array(spec)
    with open(spec["file"], "rb") as file:
        flat = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).view(dtype_named(spec["dtype"]))
    flat = flat.as_strided(spec["dims"], spec["strides"]) if "strides" in spec else flat.view(spec["dims"])
    return flat.to(device)


def write_array(spec, value):
    array = numpy.asarray(value)
    if array.ndim == 0 and spec["dims"] == [1]:
        array = array.reshape(1)
    if list(array.shape) != spec["dims"]:
        raise ValueError(f"{spec['name']} has dims {list(array.shape)} instead of {spec['dims']}")
    numpy.ascontiguousarray(array, numpy_dtype(spec["dtype"])).tofile(spec["file"])


def write_tensor(spec, tensor):
    if torch is None:
        return write_array(spec, tensor)
    if isinstance(tensor, (bool, int, float)):
        tensor = torch.as_tensor(tensor)
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{spec['name']} is no tensor")
    if tensor.dim() == 0 and spec["dims"] == [1]:
        tensor = tensor.reshape(1)
    if list(tensor.shape) != spec["dims"]:
        raise ValueError(f"{spec['name']} has dims {list(tensor.shape)} instead of {spec['dims']}")
    content = tensor.detach().to(dtype_named(spec["dtype"])).contiguous().flatten().cpu().view(torch.uint8)
    with open(spec["file"], "wb") as file:
        file.write(ctypes.string_at(content.data_ptr(), content.numel()))


def compute(message):
    inputs = {spec["name"]: read_tensor(spec) for spec in message["inputs"]}
    with torch.no_grad() if torch else contextlib.nullcontext():
        outputs = module["reference"](**inputs, **message["options"])
    outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    if len(outputs) != len(message["outputs"]):
        raise ValueError(f"it gives {len(outputs)} outputs instead of {len(message['outputs'])}")
    for spec, output in zip(message["outputs"], outputs):
        write_tensor(spec, output)


def make(message):
    torch.manual_seed(message["seed"])
    made = module["make_inputs"](**message["sizes"])
    for spec in message["make"]:
        write_tensor(spec, made[spec["name"]])


try:
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    answer({"torch": torch.__version__})
except ImportError as error:
    torch, no_torch = None, in_one_line(error)
    try:
        import numpy

        answer({"numpy": numpy.__version__})
    except ImportError:
        answer({"missing": in_one_line(error)})
        raise SystemExit(1)

module = {"__name__": "reference"}
for line in asked:
    message = json.loads(line)
    try:
        if "source" in message:
            exec(compile(message["source"], message["file"], "exec"), module)
            if not callable(module.get("reference")):
                raise NameError("there is no function reference")
        elif "make" in message:
            make(message)
        else:
            compute(message)
        answer({})
    except Exception as error:
        # A torch that is there and does not load names what it lacks instead of itself.
        lacks_torch = torch is None and in_one_line(error) == no_torch
        answer({"missing" if lacks_torch else "error": in_one_line(error)})
