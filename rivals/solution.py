"""Somebody else's solution as a rival, for `evo verify SOLUTION --task TASK`: python3 solution.py SOLUTION [REFERENCE]

SOLUTION is a file of KernelBench (class ModelNew), a .cu file with a pybind11 module that has `forward`, as robust-kbench
takes it, or a .py file with that function, or a Solution of flashinfer-bench (JSON). REFERENCE is the task's reference.py:
that of a problem tells the Model's parameters, and how robust-kbench calls `forward`. Needs torch; CUDA sources also need its
compiler."""

import importlib.util
import json
import os
import sys
import tempfile

import rival
from rival import Refusal, Rival, serve


def module_of(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def extension(sources):
    from torch.utils.cpp_extension import load

    return load(name="evo_solution", sources=sources, build_directory=tempfile.mkdtemp(prefix="evo-solution-"))


def problem_of(reference):
    """The problem that evo import made the task of; None for another task."""
    with open(reference) as file:
        text = file.read()
    return module_of(reference, "evo_reference") if "\ndef new_model(kind, tensors):\n" in text else None


def with_model(problem, kind, **more):
    """A call of a Model of this class, which gets the task's inputs that are its parameters."""

    # Tasks that were imported before these were there have none.
    outputs = getattr(problem, "flat", lambda one: one)
    arguments = getattr(problem, "arguments_of", lambda tensors: [tensors[name] for name in problem.INPUTS])
    scalars = getattr(problem, "SCALARS", [])

    def call(*inputs):
        tensors = dict(zip([*problem.INPUTS, *problem.PARAMETERS], inputs))
        given = {name: one.reshape(()) if name in scalars else one for name, one in tensors.items()}
        values, model = arguments(given), problem.new_model(kind, tensors)
        return outputs(model(**values, **more) if isinstance(values, dict) else model(*values, **more))

    return call


def of_python(path, device, problem):
    import torch

    module = module_of(path, "evo_solution")
    if not hasattr(module, "ModelNew"):
        if hasattr(module, "forward"):
            return of_forward(module.forward, problem)
        raise Refusal(f"{os.path.basename(path)} has neither class ModelNew nor forward()")
    if problem:
        return with_model(problem, module.ModelNew)
    arguments = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
    model = module.ModelNew(*arguments)
    return model.to(device) if isinstance(model, torch.nn.Module) else model


def of_forward(forward, problem):
    """As robust-kbench calls it: by its Model, with what that passes on."""
    return with_model(problem, problem.Model, fn=forward) if hasattr(problem, "forward_fn") else forward


def of_flashinfer_bench(path):
    with open(path, encoding="utf-8-sig") as file:
        solution = json.load(file)
    spec = solution["spec"]
    folder = tempfile.mkdtemp(prefix="evo-solution-")
    for source in solution["sources"]:
        place = os.path.join(folder, source["path"])
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w") as file:
            file.write(source["content"])
    file, function = spec["entry_point"].split("::")
    if spec["language"] in ("python", "triton"):
        sys.path.insert(0, folder)
        call = getattr(module_of(os.path.join(folder, file), "evo_solution"), function)
    elif spec.get("binding", "") == "torch":
        sources = [os.path.join(folder, source["path"]) for source in solution["sources"]]
        call = getattr(extension([path for path in sources if path.endswith((".cu", ".cpp"))]), function)
    else:
        raise Refusal(f"a Solution in {spec['language']} with the binding {spec.get('binding')} cannot be called here")
    return call, spec.get("destination_passing_style", False)


def rivals_of(task):
    import torch

    path = sys.argv[1]
    device = rival.DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
    problem = problem_of(sys.argv[2]) if len(sys.argv) > 2 else None
    destination = False
    if path.endswith(".py"):
        call = of_python(path, device, problem)
    elif path.endswith(".json"):
        call, destination = of_flashinfer_bench(path)
    else:
        call = of_forward(extension([os.path.abspath(path)]).forward, problem)

    def prepare(given):
        return [given, *given.inputs.values()]

    def run(given, *inputs):
        with torch.no_grad():
            if not destination:
                outputs = call(*inputs)
                return tuple(outputs) if isinstance(outputs, (list, tuple)) else outputs
            outputs = tuple(torch.empty(spec["dims"], dtype=rival.dtype_named(spec["dtype"]), device=device)
                            for spec in given.outputs)
            call(*inputs, *outputs)
            return outputs

    return [Rival("solution", f"torch {torch.__version__}", prepare, run)]


serve(None, rivals_of, needs_gpu=False)
