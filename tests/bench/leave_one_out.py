#!/usr/bin/env python3
"""Ablation and leave-one-space-out from the JSON of `evo replay`.
For each space, the variant with the best mean P over the *other* spaces is chosen. Its P on the space left out shows how
well such a choice does on a new space.
usage: leave_one_out.py replay.json"""
import json
import sys

document = json.load(open(sys.argv[1]))
score = {s["name"]: {v["strategy"]: v for v in s["strategies"]} for s in document["spaces"]}


def cell(figure, digits=3):
    return f"{figure['value']:.{digits}f} ±{(figure['high'] - figure['low']) / 2:.{digits}f}"


print("| variant | P | best@100 | best@200 | within 5 % |\n|---|---|---|---|---|")
for v in sorted(document["mean"], key=lambda v: -v["score"]["value"]):
    best = {b["evaluations"]: b for b in v["best"]}
    print(f"| {v['strategy']} | {cell(v['score'])} | {cell(best[100])} | {cell(best[200])} | {cell(v['within_5_percent'], 2)} |")

print("\n| space left out | chosen on the others | P there | P of `evolve` there |\n|---|---|---|---|")
for left_out in score:
    others = [s for s in score if s != left_out]
    chosen = max(score[left_out], key=lambda v: sum(score[s][v]["score"]["value"] for s in others))
    print(f"| {left_out} | {chosen} | {cell(score[left_out][chosen]['score'])} | {cell(score[left_out]['evolve']['score'])} |")
