"""evo searches for the fastest correct CUDA kernel of a task; this package runs it from Python.

    import evo_kernels as evo

    result = evo.run("fp8_sdpa", time="1m")      # searches; without a GPU, on a virtual one
    print(result.best.latency_us, result.table())
    result.export("best.cu")                     # one file of CUDA C++
    attention = evo.load(result)                 # a callable on torch tensors

It calls the program evo and reads its JSON; docs/python.md describes it.
"""

from ._apply import Applied, Seen, apply
from ._database import Candidate, Database, open
from ._frames import Table
from ._load import ArrayKernel, Kernel, load
from ._profile import Profile, profile
from ._program import EvoError, program
from ._report import Page, report
from ._search import Result, resume, run
from ._tune import tune
from ._tuned import Tuned, tuned

__all__ = [
    "Applied", "ArrayKernel", "Candidate", "Database", "EvoError", "Kernel", "Page", "Profile", "Result", "Seen",
    "Table", "Tuned", "apply", "load", "open", "profile", "program", "report", "resume", "run", "tune", "tuned",
]  # fmt: skip
