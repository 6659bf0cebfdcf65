"""The best known kernels of fp8_sdpa (best_known.json), for the scripts of this folder. Most take those of OBJECTIVE.

latency_us is null where a genome was changed to keep later limits of its objective, and not measured since."""

import json
import pathlib

OBJECTIVE = "fast"
BY_OBJECTIVE = json.loads((pathlib.Path(__file__).parent / "best_known.json").read_text())
BEST_KNOWN = BY_OBJECTIVE[OBJECTIVE]  # By option, then by shape.


def proposing(genome):
    """Arguments with which `evo run` evaluates this genome, as a candidate whose op is 'proposer', and one random one."""
    answer = json.dumps({"proposals": [{"genome": genome}]})
    proposer = f"read -r task; while read -r turn; do echo '{answer}'; done"
    return ["--strategy", "random", "--evals", "2", "--screen", "1", "--seed", "1", "--proposer", proposer, "--proposer-share", "50"]
