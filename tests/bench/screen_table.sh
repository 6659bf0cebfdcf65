#!/usr/bin/env bash
# What screening with the cost model saves on recorded sweeps of our own families (docs/results/search.md).
#   tests/bench/screen_table.sh [RUNS] [OUT_FOLDER]
# Modelling every genome of the sweeps takes half an hour of a core; what OUT_FOLDER holds already is not modelled again.
set -euo pipefail
runs=${1:-30}
out=${2:-runs/screen}
evo=${EVO:-build/release/cli/evo}
mkdir -p "$out"

modelled=()
for sweep in tests/data/sweeps/*.json.gz; do
  csv=$out/$(basename "$sweep" .json.gz).csv
  [ -e "$csv" ] || "$evo" model --against "$sweep" --failed-too --csv "$csv"
  modelled+=(--modelled "$csv")
done
for screen in 1 2 4 8; do
  echo "## the best modelled of $screen"
  "$evo" replay tests/data/sweeps/*.json.gz "${modelled[@]}" --screen "$screen" --strategy evolve --evals 100 \
    --budgets 10,25,50,100 --runs "$runs"
done
