#!/usr/bin/env python3
"""Evaluations that a warm start from another shape saves (docs/studies/search.md), on random halves of the sweeps that hold
the same genomes at both shapes.

    tests/bench/seed_table.py [DRAWS] [SCREEN] [MODELS_FOLDER]

Both shapes keep the same half, and the genome of an elite can be evaluated at both. Over DRAWS halves the luck of the few
seeds of one sweep averages out. MODELS_FOLDER: see model_sweeps.sh. ±: half of the 95 % interval over draws, of six runs each.
"""

import gzip
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

SHAPES = [512, 4096]
RUNS = 6

draws = int(sys.argv[1]) if len(sys.argv) > 1 else 40
screen = sys.argv[2] if len(sys.argv) > 2 else "4"
models = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else "runs/screen")
sweeps = pathlib.Path(__file__).resolve().parents[1] / "data" / "sweeps"
evo = os.environ.get("EVO", "build/release/cli/evo")
modelled = [argument for file in sorted(models.glob("*.csv")) for argument in ("--modelled", file)]


def to_5_percent(space, seed_from):
    seeds = ["--seed-from", seed_from] if seed_from else []
    command = [evo, "replay", space, *seeds, *modelled, "--screen", screen, "--strategy", "evolve", "--evals", "100", "--budgets", "100",
               "--runs", str(RUNS), "--json"]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return report["spaces"][0]["strategies"][0]["evaluations_to_5_percent"]["value"]


def file_name(name, shape):
    return f"{name}_1_8_{shape}_64_h200.json"


def halves(name, whole, draw, folder):
    """Files of the same half of the genomes at each shape. `whole`: the sweeps by shape."""
    common = sorted(set.intersection(*(set(sweep["cache"]) for sweep in whole.values())))
    kept = set(random.Random(draw).sample(common, len(common) // 2))
    files = {}
    for shape, sweep in whole.items():
        files[shape] = folder / file_name(name, shape)
        half = {genome: result for genome, result in sweep["cache"].items() if genome in kept}
        files[shape].write_text(json.dumps(dict(sweep, cache=half)))
    return files


def cell(values):
    return f"{statistics.mean(values):.1f} ±{1.96 * statistics.stdev(values) / len(values) ** 0.5:.1f}"


def main():
    print("| evaluations to 5 % | unseeded | seeded |\n|---|---|---|")
    means = {False: [], True: []}
    for of_sweeps, name in [(sweeps, "fp8_sdpa_mma_sync"), (sweeps / "shared", "fp8_sdpa_wgmma_500")]:
        whole = {shape: json.loads(gzip.open(of_sweeps / f"{file_name(name, shape)}.gz").read()) for shape in SHAPES}
        results = {(shape, seeded): [] for shape in SHAPES for seeded in means}
        with tempfile.TemporaryDirectory() as folder:
            for draw in range(draws):
                files = halves(name, whole, draw, pathlib.Path(folder))
                for shape, source in zip(SHAPES, reversed(SHAPES)):
                    for seeded in means:
                        results[shape, seeded].append(to_5_percent(files[shape], files[source] if seeded else None))
        for shape, source in zip(SHAPES, reversed(SHAPES)):
            cells = [results[shape, seeded] for seeded in means]
            print(f"| {name}, S = {shape}, from S = {source} | {cell(cells[0])} | {cell(cells[1])} |", flush=True)
            for seeded, values in zip(means, cells):
                means[seeded].append(statistics.mean(values))
    print(f"| mean | {statistics.mean(means[False]):.1f} | {statistics.mean(means[True]):.1f} |")


main()
