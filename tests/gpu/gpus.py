"""The CUDA GPUs of this host, for the scripts of this folder."""

import os
import subprocess


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
