#!/usr/bin/env python3
"""How good a search is on problems that it was not chosen on, and whether a change makes it better.
usage: nested.py REPLAY.json...
Each file is written by `evo replay SPACES --strategy random,OLD,NEW,... --budgets 50,100,200 --json`; further files hold
further seeds. The first strategy but random is the incumbent, the others challenge it in their order. A problem is what
a space's name begins with, up to `_`: the spaces of one problem, on several GPUs, are left out together.

A round is one seed on every space. Its gain is the logarithm of old/new, averaged over the budgets, the spaces of a
problem, and the problems. A sequential probability ratio test reads the rounds in the order of the seeds until it knows
whether the mean gain is 0 or GAIN, with an error of RISK each. For each problem these tests choose among the strategies
on the other problems alone; the figures of the choice on the problem itself are averaged. Intervals are 95 % and
resample problems, then their spaces, then runs."""
import json
import math
import random
import statistics
import sys

GAIN, RISK, LEAST_ROUNDS, RESAMPLES = 0.005, 0.05, 20, 1000
BUDGETS = [50, 100, 200]
COLUMNS = ["P", "best@50", "best@100", "best@200", "10 % off@100", "in 5 %@200"]


def read(files):
    """By strategy and space: the runs, each with the best of every budget, and P."""
    spaces = {}
    for file in files:
        for space in json.load(open(file))["spaces"]:
            for one in space["strategies"]:
                found = spaces.setdefault(one["strategy"], {}).setdefault(space["name"], {"runs": [], "scores": []})
                at = [[b["evaluations"] for b in one["best"]].index(budget) for budget in BUDGETS]
                found["runs"] += [[run[i] for i in at] for run in one["best_by_run"]]
                found["scores"].append(one["score"]["value"])
    return spaces


def gains(old, new):
    return [statistics.fmean(math.log(a / b) for a, b in zip(x, y)) for x, y in zip(old["runs"], new["runs"])]


def test(old, new, problems):
    """Whether `new` is better on these problems, and the rounds until that was known; None: it is not known yet."""
    rows = [[gains(old[space], new[space]) for space in spaces] for spaces in problems.values()]
    rounds = min(len(row) for spaces in rows for row in spaces)
    seen = []
    for i in range(rounds):
        seen.append(statistics.fmean(statistics.fmean(row[i] for row in spaces) for spaces in rows))
        if len(seen) < LEAST_ROUNDS:
            continue
        variance = max(statistics.variance(seen), 1e-12)
        evidence = len(seen) * GAIN * (statistics.fmean(seen) - GAIN / 2) / variance
        if abs(evidence) >= math.log((1 - RISK) / RISK):
            return evidence > 0, len(seen), statistics.fmean(seen)
    return None, rounds, statistics.fmean(seen)


def choose(strategies, names, problems):
    """The last strategy that was accepted, and what was said of each."""
    best, verdicts = names[0], []
    for name in names[1:]:
        better, rounds, gain = test(strategies[best], strategies[name], problems)
        word = {True: "accepted", False: "rejected", None: "undecided"}[better]
        verdicts.append(f"{name} against {best}: {word} after {rounds} rounds, gain {100 * gain:+.2f} %")
        best = name if better else best
    return best, verdicts


def figures(space, runs):
    mean = [statistics.fmean(run[i] for run in runs) for i in range(len(BUDGETS))]
    lost = statistics.fmean(run[1] > 1.1 for run in runs)
    near = statistics.fmean(run[2] <= 1.05 for run in runs)
    return [statistics.fmean(space["scores"]), *mean, lost, near]


def averaged(rows):
    return [statistics.fmean(column) for column in zip(*rows)]


def of_spaces(spaces, problems):
    """The mean over problems of the mean over their spaces, with intervals."""
    rng = random.Random(0)

    def once(draw):
        chosen = draw(list(problems.values()))
        return averaged([averaged([figures(spaces[s], draw(spaces[s]["runs"])) for s in draw(names)]) for names in chosen])

    value = once(lambda items: items)
    drawn = list(zip(*(once(lambda items: rng.choices(items, k=len(items))) for _ in range(RESAMPLES))))
    ends = [sorted(column)[int(RESAMPLES * share)] for share in (0.025, 0.975) for column in drawn]
    return value, ends[: len(value)], ends[len(value) :]


def table(label, spaces, problems):
    value, low, high = of_spaces(spaces, problems)
    print(f"| {label} | " + " | ".join(f"{v:.3f} [{a:.3f}, {b:.3f}]" for v, a, b in zip(value, low, high)) + " |")


def main():
    strategies = read(sys.argv[1:])
    names = [name for name in strategies if name != "random"]
    problems = {}
    for space in strategies[names[0]]:
        problems.setdefault(space.split("_")[0], []).append(space)
    print("| strategy, all problems | " + " | ".join(COLUMNS) + " |\n|---" + "|---" * len(COLUMNS) + "|")
    for name in strategies:
        table(f"`{name}`", strategies[name], problems)
    nested = {}
    best, verdicts = choose(strategies, names, problems)
    print(f"\n## On all problems: `{best}`\n" + "\n".join(f"- {verdict}" for verdict in verdicts))
    print("\n## What is chosen on the other problems")
    for problem, left_out in problems.items():
        best, verdicts = choose(strategies, names, {p: s for p, s in problems.items() if p != problem})
        print(f"- without {problem}: `{best}`")
        for verdict in verdicts:
            print(f"  - {verdict}")
        nested |= {space: strategies[best][space] for space in left_out}
    print("\n| nested | " + " | ".join(COLUMNS) + " |\n|---" + "|---" * len(COLUMNS) + "|")
    for space in nested:
        table(space, nested, {space: [space]})
    table("**all**", nested, problems)
    for space in nested if "random" in strategies else []:
        ahead = gains(nested[space], strategies["random"][space])
        if statistics.fmean(ahead) > 1.96 * statistics.stdev(ahead) / math.sqrt(len(ahead)):
            print(f"random is better on {space}: {100 * statistics.fmean(ahead):.1f} %")


main()
