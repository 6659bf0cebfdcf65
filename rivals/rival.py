"""What the shipped rivals share: evo's lines (docs/baseline.md), files as torch tensors, and timing.

A rival is a Rival; serve() answers evo with those that a function finds for a task."""

import ctypes
import json
import math
import os
import statistics
import sys
import time

# As many calls in a graph as evo's own timing has (evaluator/cuda/timing.cpp).
CALLS, LEAST_REPLAY_US, MOST_REPLAY_US, MOST_CALLS = 20, 50, 4000, 1000
FEWEST_SAMPLES = 5
# Each way of a rival to do its work is tried in so many turns of so many samples.
TRIAL_TURNS, TRIAL_SAMPLES = 3, 7
DEVICE = "cuda"  # Where tensors are.


class Refusal(Exception):
    """Why a rival does not do something, for people."""


class Rival:
    """One program that computes a task.

    prepare(problem) is not timed: it may decode inputs. It returns the tensors that call(*tensors) takes; call returns
    the outputs, in any dtype. `note` says what it does otherwise than the task asks. finish(*tensors, *outputs), which
    is not timed either, makes the task's outputs of them. choices(*tensors) lists calls that do the same work in other
    ways, as by another algorithm of a library: the fastest is then taken in place of `call`."""

    def __init__(self, name, version, prepare, call=None, note="", finish=None, choices=None):
        self.name, self.version, self.note = name, version, note
        self.prepare, self.finish = prepare, finish
        self.choices = choices or (lambda *tensors: [call])


class Problem:
    """One set of inputs: tensors on the GPU by name, as attributes of `inputs`."""

    def __init__(self, task, sizes, inputs, outputs):
        self.task, self.options, self.sizes, self.inputs, self.outputs = task, task["options"], sizes, inputs, outputs


def dtype_named(name):
    import torch

    names = {
        "bool": "bool", "u8": "uint8", "s8": "int8", "u16": "uint16", "s16": "int16", "u32": "uint32",
        "s32": "int32", "u64": "uint64", "s64": "int64", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2",
        "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
    }
    if name not in names:
        raise Refusal(f"torch has no dtype {name}")
    return getattr(torch, names[name])


def read_tensor(spec):
    import torch

    with open(spec["file"], "rb") as file:
        content = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).to(DEVICE)
    flat = content.view(dtype_named(spec["dtype"]))
    return flat.as_strided(spec["dims"], spec["strides"]) if "strides" in spec else flat.view(spec["dims"])


def write_tensor(spec, tensor):
    import torch

    dtype = dtype_named(spec["dtype"])
    if tensor.numel() != math.prod(spec["dims"]):
        raise Refusal(f"its output {spec['name']} has {list(tensor.shape)} elements instead of {spec['dims']}")
    content = tensor.reshape(spec["dims"]).to(dtype).contiguous().flatten().view(torch.uint8).cpu()
    with open(spec["file"], "wb") as file:
        file.write(ctypes.string_at(content.data_ptr(), content.numel()))


class Calls:
    """Calls that alternate between a shape's sets of tensors, as one CUDA graph."""

    def __init__(self, call, sets):
        self.calls = [lambda tensors=tensors: call(*tensors) for tensors in sets]
        self.graph, self.count = None, len(self.calls)

    def capture(self, count):
        import torch

        sets = len(self.calls)
        self.graph, self.count = None, (count + sets - 1) // sets * sets
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for call in self.calls * 3:
                call()
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for i in range(self.count):
                self.calls[i % sets]()
        self.graph = graph

    def capture_usual(self):
        """As many calls as evo puts into a graph of its own."""
        self.capture(CALLS)
        self.sample_us()
        us = self.sample_us()
        calls = CALLS if CALLS * us >= LEAST_REPLAY_US else math.ceil(LEAST_REPLAY_US / us)
        if calls * us > MOST_REPLAY_US:
            calls = max(1, int(MOST_REPLAY_US / us))
        if calls != CALLS:
            self.capture(min(calls, MOST_CALLS))

    def sample_us(self):
        import torch

        begun, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begun.record()
        self.graph.replay()
        ended.record()
        torch.cuda.synchronize()
        return begun.elapsed_time(ended) * 1000 / self.count

    def time_us(self, warm_up_s, seconds, average):
        if self.graph is None:
            self.capture_usual()
        until = time.monotonic() + warm_up_s
        while time.monotonic() < until:
            self.sample_us()
        samples, until = [], time.monotonic() + seconds
        while len(samples) < FEWEST_SAMPLES or time.monotonic() < until:
            samples.append(self.sample_us())
        return statistics.mean(samples) if average == "mean" else statistics.median(samples)


def lost(error):
    """Whether the CUDA context is gone, so that only another process can go on."""
    return "CUDA error" in str(error)


def fastest(choices, sets):
    """The fastest of these calls, timed as the rival will be: in a graph, over the same sets, in turns. A call that fails
    is left out; when all do, the first one's error is raised."""
    able, why = [], None
    for call in choices:
        try:
            calls = Calls(call, sets)
            calls.capture_usual()
            able.append((call, calls, []))
        except Exception as error:
            if lost(error):
                raise
            why = why or error
    if not able:
        raise why or Refusal("it has no way to do this")
    for _ in range(TRIAL_TURNS):
        for _, calls, samples in able:
            calls.sample_us()
            samples.extend(calls.sample_us() for _ in range(TRIAL_SAMPLES))
    return min(able, key=lambda one: statistics.median(one[2]))[0]


class Prepared:
    """A rival with its sets of inputs for one shape, ready to be timed. Its answers are written."""

    def __init__(self, rival, problems):
        sets = [rival.prepare(problem) for problem in problems]
        choices = rival.choices(*sets[0])
        call = choices[0] if len(choices) == 1 else fastest(choices, sets)
        for problem, tensors in zip(problems, sets):
            write_outputs(problem, rival, tensors, call(*tensors))
        self.calls = Calls(call, sets)

    def time_us(self, *how):
        return self.calls.time_us(*how)


def write_outputs(problem, rival, tensors, outputs):
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    if rival.finish:
        outputs = (rival.finish(*tensors, *outputs),)
    if len(outputs) != len(problem.outputs):
        raise Refusal(f"it has {len(outputs)} outputs instead of {len(problem.outputs)}")
    if DEVICE == "cuda":
        import torch

        torch.cuda.synchronize()
    for spec, output in zip(problem.outputs, outputs):
        write_tensor(spec, output)


def in_one_line(error):
    text = str(error).strip() or type(error).__name__
    return " ".join(text.split())[:300]


def serve(tasks, rivals_of, needs_gpu=True):
    """Answers evo until it ends. `tasks`: the names of those that there are rivals for, None for any; rivals_of(task)
    returns a list of Rival and may raise Refusal or ImportError."""
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # What libraries print is no answer.

    def answer(message):
        lines.write(json.dumps(message) + "\n")
        lines.flush()

    task, rivals, prepared = None, {}, {}
    for line in sys.stdin:
        message = json.loads(line)
        try:
            if message["type"] == "task":
                task = message
                answer(offer(task, tasks, rivals_of, rivals, needs_gpu))
            elif message["type"] == "run":
                rival = rivals[message["rival"]]
                problems = []
                for files in message["sets"]:
                    inputs = {spec["name"]: read_tensor(spec) for spec in files["inputs"]}
                    problems.append(Problem(task, task["shapes"][message["shape"]], inputs, files["outputs"]))
                prepared[message["rival"], message["shape"]] = Prepared(rival, problems)
                answer({})
            elif message["type"] == "time":
                ready = prepared[message["rival"], message["shape"]]
                answer({"us": ready.time_us(message["warm_up_s"], message["seconds"], message["average"])})
        except Refusal as refusal:
            answer({"error": in_one_line(refusal)})
        except Exception as error:  # torch's own refusals are RuntimeErrors, as are its failures.
            if lost(error):
                raise  # The context is lost: evo starts this process again.
            answer({"error": in_one_line(error)})


def offer(task, tasks, rivals_of, rivals, needs_gpu):
    rivals.clear()
    if tasks is not None and task["task"] not in tasks:
        return {"rivals": []}
    if needs_gpu and task["device"]["kind"] != "cuda":
        return {"rivals": [], "why": f"it needs a GPU, not {task['device']['id']}"}
    # Before torch looks for GPUs. Other programs of the machine number them otherwise.
    if task["device"]["kind"] == "cuda":
        os.environ["CUDA_VISIBLE_DEVICES"] = task["device"]["uuid"]
    try:
        found = rivals_of(task)
    except (Refusal, ImportError, OSError) as reason:
        return {"rivals": [], "why": in_one_line(reason)}
    rivals.update({rival.name: rival for rival in found})
    return {"rivals": [{"name": rival.name, "version": rival.version, "note": rival.note} for rival in found]}
