from ._tuned import Tuned, tuned
from ._load import ArrayKernel, Kernel, load
from ._tune import tune
from ._database import Candidate, Database, open
from ._frames import Table
from ._program import EvoError
from ._report import Page, report
from ._search import Result, resume, run
