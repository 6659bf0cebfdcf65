#!/usr/bin/env python3
"""Do the counters of `evo profile` agree with those of ncu?

usage: tests/gpu/counters_like_ncu.py EVO DATABASE [ID...]   (default: the best elite of each task)

For each candidate: evo profile reads the counters; the candidate is exported and compiled with nvcc, and ncu reads the
same counters of the same launch, caches and clocks left alone. A counter agrees when the two differ by at most 3 %.
Counts of work and busy pipes must agree. A share of the elapsed cycles is compared times the cycles that elapsed in the
same tool: the two launches last a few per cent more or less, and the work in them is the same. What depends on other
programs on the GPU and on the clock of the moment (duration, clocks, memory traffic, warp states) is shown, and does
not decide."""
import csv
import io
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TOLERANCE = 0.03
LEAST_PERCENT = 1  # Smaller shares are noise, also conflicts in a smaller share of the wavefronts.
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
OF_ELAPSED, ELAPSED = ".pct_of_peak_sustained_elapsed", "sm__cycles_elapsed.max"
DECIDING = ("sm__inst_executed", "l1tex__data_pipe", "l1tex__data_bank_conflicts", "lts__t_sectors.sum",
            "sm__pipe_tensor", "sm__inst_executed_pipe_xu")


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def read_ncu(program, kernel, metrics):
    """Of a warm launch among those that the program times; of its only other one where ncu sees none of them."""
    for skipped, arguments in ((2, []), (0, ["check"])):
        text = run("ncu", "--csv", "--page", "raw", "--print-units", "base", "--cache-control", "none",
                   "--clock-control", "none", "-k", f"regex:(^|::){kernel}(_[A-Z]+[0-9]+)*(_[0-9a-f]{{12}})?$", "--launch-skip",
                   str(skipped), "--launch-count", "1", "--metrics", ",".join(metrics), program, *arguments)
        if '"ID"' in text:
            break
    else:
        sys.exit(f"ncu counted no launch of {kernel}:\n{text[-2000:]}")
    rows = list(csv.DictReader(io.StringIO(text[text.index('"ID"'):])))
    return {metric: float(rows[1][metric].replace(",", "")) for metric in metrics if rows[1].get(metric)}


def percent(metric, values):
    """What share of its whole a metric is; a count that is a whole of its own is all of it."""
    if metric == CONFLICTS and values.get(WAVEFRONTS):
        return 100 * values[metric] / values[WAVEFRONTS]
    return values[metric] if "pct" in metric else 100


def compare(evo, database, candidate, folder):
    profile = json.loads(run(evo, "profile", candidate, "--db", database, "--json"))["kernels"][0]
    source, program = folder / f"{candidate}.cu", folder / candidate
    said = run(evo, "export", candidate, "--db", database, "-o", source)
    compile_command = re.search(r"nvcc .*? -o ", said).group(0).split() + [str(program)]
    run(*compile_command)
    agree = True
    for shape in profile["shapes"][:1]:  # The program runs the first one that was timed.
        for launch in shape["launches"]:
            if launch["measured"] is None:
                sys.exit("evo profile read no counters here")
            counters = launch["measured"]["counters"]
            ncu = read_ncu(program, launch["kernel"], sorted(counters))
            print(f"candidate {candidate}, {profile['task']} at {shape['shape']}, {launch['kernel']}")
            print(f"  {'metric':<74}{'evo':>14}{'ncu':>14}{'evo/ncu':>9}")
            for metric, ours in sorted(counters.items()):
                theirs = ncu.get(metric)
                if theirs is None:
                    continue
                ratio = ours / theirs if theirs else (1.0 if ours == 0 else float("inf"))
                if metric.endswith(OF_ELAPSED):
                    ratio *= counters[ELAPSED] / ncu[ELAPSED]
                decides = metric.startswith(DECIDING) and percent(metric, ncu) >= LEAST_PERCENT
                wrong = decides and abs(ratio - 1) > TOLERANCE
                agree = agree and not wrong
                print(f"  {metric:<74}{ours:>14.5g}{theirs:>14.5g}{ratio:>9.3f}"
                      f"{'  DISAGREES' if wrong else '' if decides else '  (shown)'}")
    return agree


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    evo, database, *candidates = sys.argv[1:]
    if not candidates:
        elites = json.loads(run(evo, "elites", "--db", database, "--json"))["elites"]
        candidates = [str(elite["candidate"]) for elite in elites if elite["rank"] == 1]
    with tempfile.TemporaryDirectory() as folder:
        agreed = [compare(evo, database, candidate, Path(folder)) for candidate in candidates]
    print(f"{sum(agreed)} of {len(agreed)} candidates agree with ncu within {TOLERANCE:.0%}")
    sys.exit(0 if all(agreed) else 1)


if __name__ == "__main__":
    main()
