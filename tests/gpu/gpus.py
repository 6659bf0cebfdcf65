"""The CUDA GPUs of this host and their shares of its cores, for the scripts of this folder."""

import os
import queue
import subprocess
from concurrent.futures import ThreadPoolExecutor


def gpus():
    """As evo names them: those that CUDA_VISIBLE_DEVICES leaves. Empty without nvidia-smi."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [f"cuda:{number}" for number, _ in enumerate(filter(None, visible.split(",")))]
    try:
        lines = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout.splitlines()
    except FileNotFoundError:
        return []
    return [f"cuda:{number}" for number in range(sum(line.startswith("GPU ") for line in lines))]


def cores_of(devices, first, count=1):
    """The share of `count` of these devices, from the number `first` on, in the cores of this process. At least one core."""
    cores = sorted(os.sched_getaffinity(0))
    begin, end = (len(cores) * number // len(devices) for number in (first, first + count))
    return cores[begin:max(end, begin + 1)] or cores


class Place:
    """A device and its share of the cores."""

    def __init__(self, devices, number):
        self.device = devices[number]
        self.cores = ",".join(map(str, cores_of(devices, number)))

    def command(self, program, *arguments):
        """`evo` there, a command that takes --device."""
        return ["taskset", "-c", self.cores, program, *arguments, "--device", self.device]


def deal(devices, jobs, do):
    """Calls do(place, job) for each job, on each device for one at a time: the next job goes to the device that is free first. What
    do() throws ends the work of its device, and is thrown when the others are done."""
    left = queue.SimpleQueue()
    for job in jobs:
        left.put(job)

    def work(place):
        while True:
            try:
                job = left.get_nowait()
            except queue.Empty:
                return
            do(place, job)

    with ThreadPoolExecutor(len(devices)) as pool:
        for working in [pool.submit(work, Place(devices, number)) for number in range(len(devices))]:
            working.result()
