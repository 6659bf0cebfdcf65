#!/usr/bin/env python3
"""Fits and tries the rule by which a run ends itself (engine/search/settling.h), on replayed searches.

The rule says how likely a run that goes on for as many evaluations again becomes at least 1 % faster. Each problem counts
alike. The rule that is tried on a problem was fitted to the others; spaces of one problem stay together.

    evo replay SPACE.json.gz... --strategy evolve --evals 500 --runs 60 --out orders.jsonl
    stopping_rule.py orders.jsonl SPACE.json.gz...
"""
import collections
import gzip
import json
import math
import pathlib
import re
import sys

LEAST, GAIN, CHANCES = 24, 0.01, (0.05, 0.1, 0.15, 0.2)


def latencies(path):
    """Of a Kernel Tuner cache file, by row; None for a failure."""
    text = gzip.open(path, "rt").read().rstrip().rstrip(",")
    try:
        cache = json.loads(text)["cache"]
    except json.JSONDecodeError:  # unfinished files lack their end
        cache = json.loads(text + "}}")["cache"]
    return [v["time"] if isinstance(v["time"], (int, float)) else None for v in cache.values()]


def curves(orders, spaces):
    """The best latency after each evaluation, of all runs; by space."""
    found = collections.defaultdict(list)
    for line in open(orders):
        run = json.loads(line)
        best, curve = math.inf, []
        for row in run["order"]:
            best = min(best, spaces[run["space"]][row] or math.inf)
            curve.append(best)
        found[run["space"]].append(curve)
    return found


def since_gain(curve, n):
    """Evaluations since the best was 1 % slower than after n."""
    return n - 1 - next(i for i, best in enumerate(curve) if best * (1 - GAIN) <= curve[n - 1])


def features(curve, n):
    return (1.0, math.log((since_gain(curve, n) + 1) / n), math.log(n / 50))


def chance(weights, x):
    return 1 / (1 + math.exp(-sum(w * f for w, f in zip(weights, x))))


def examples(found, spaces):
    """Features, and whether as many evaluations again brought 1 %. At most half of a small space counts."""
    for space, runs in found.items():
        for curve in runs:
            for n in range(LEAST, len(curve) // 2 + 1, 6):
                if 4 * n <= len(spaces[space]) and math.isfinite(curve[n - 1]):
                    yield features(curve, n), curve[2 * n - 1] < (1 - GAIN) * curve[n - 1]


def solve(a, b):
    """Gauss, for three unknowns."""
    rows = [r + [v] for r, v in zip(a, b)]
    for i in range(len(b)):
        pivot = max(range(i, len(b)), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(len(b)):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[i])]
    return [rows[i][-1] / rows[i][i] for i in range(len(b))]


def fit(data):
    """Logistic regression by Newton's method; each example with its weight."""
    weights = [0.0, 0.0, 0.0]
    for _ in range(12):
        gradient, hessian = [0.0] * 3, [[1e-9 * (i == j) for j in range(3)] for i in range(3)]
        for x, y, counts in data:
            p = chance(weights, x)
            for i in range(3):
                gradient[i] += counts * (y - p) * x[i]
                for j in range(3):
                    hessian[i][j] += counts * p * (1 - p) * x[i] * x[j]
        weights = [w + s for w, s in zip(weights, solve(hessian, gradient))]
    return weights


def problem(space):
    """The name without the device and what else sets siblings apart."""
    return re.sub(r"__.*|(_500)?_\d+_\d+_\d+_\d+_h200$", "", space)


def reliability(said_true):
    bins = collections.defaultdict(list)
    for p, y in said_true:
        bins[min(9, int(10 * p))].append((p, y))
    print("| said | decisions | said, mean | came true |\n|---|---|---|---|")
    for b, pairs in sorted(bins.items()):
        said, true = (sum(v) / len(pairs) for v in zip(*pairs))
        print(f"| {b / 10:.1f} to {b / 10 + 0.1:.1f} | {len(pairs)} | {said:.2f} | {true:.2f} |")


def end_of(curve, weights, least):
    """After how many evaluations a run ends, 400 at most."""
    last = min(400, len(curve))
    for n in range(LEAST, last):
        if math.isfinite(curve[n - 1]) and chance(weights, features(curve, n)) < least:
            return n
    return last


def row(name, ended):
    n = sorted(e[0] for e in ended)
    again = [e[2] for e in ended if e[2] is not None]
    share = f"{sum(again) / len(again):.2f} of {len(again)}" if again else "-"
    full = sum(e[1] for e in ended) / len(ended)
    same = sum(e[3] for e in ended) / len(ended)
    print(f"| {name} | {n[len(n) // 2]} ({n[len(n) // 10]}, {n[-1 - len(n) // 10]}) | {full:.1f} % | {same:.1f} % | {share} |")


def main():
    spaces = {pathlib.Path(p).name.removesuffix(".json.gz"): latencies(p) for p in sys.argv[2:]}
    found = curves(sys.argv[1], spaces)
    of_problem = collections.defaultdict(list)
    for space, runs in found.items():
        of_problem[problem(space)] += examples({space: runs}, spaces)
    of_problem = {name: [(x, y, 1 / len(d)) for x, y in d] for name, d in of_problem.items()}
    every = [one for d in of_problem.values() for one in d]
    print("weights of 1, log((since + 1) / n), log(n / 50):", ", ".join(f"{w:.2f}" for w in fit(every)))
    others = {name: fit([one for other, d in of_problem.items() if other != name for one in d]) for name in of_problem}
    for name, weights in others.items():
        print(f"without {name}:", ", ".join(f"{w:.2f}" for w in weights))
    print()
    reliability([(chance(others[name], x), y) for name, d in of_problem.items() for x, y, _ in d])
    print("\n| ends below | evaluations, median (10 %, 90 %) | a run of 400 is faster by | than a run that always "
          "ends after the median | gained 1 % within as many again |\n|---|---|---|---|---|")
    for least in CHANCES:
        ended = {s: [end_of(c, others[problem(s)], least) for c in runs] for s, runs in found.items()}
        median = sorted(n for ns in ended.values() for n in ns)[sum(map(len, ended.values())) // 2]
        rows = {s: [(n, 100 * (c[n - 1] / c[min(400, len(c)) - 1] - 1),
                     c[2 * n - 1] < (1 - GAIN) * c[n - 1] if 2 * n <= len(c) else None,
                     100 * (c[min(median, len(c)) - 1] / c[min(400, len(c)) - 1] - 1))
                    for n, c in zip(ended[s], runs)] for s, runs in found.items()}
        row(f"{least}, all", [one for r in rows.values() for one in r])
        if least == 0.1:
            for space, r in sorted(rows.items()):
                row(space, r)


main()
