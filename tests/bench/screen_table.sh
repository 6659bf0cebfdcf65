#!/usr/bin/env bash
# What screening with the cost model, and seeds of another shape, save on recorded sweeps of our own families
# (docs/results/search.md).
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
for screen in 1 4; do
  for family in mma_sync wgmma; do
    for shape in 512 4096; do
      sweep=tests/data/sweeps/fp8_sdpa_${family}_1_8_${shape}_64_h200.json.gz
      elsewhere=tests/data/sweeps/fp8_sdpa_${family}_1_8_$((512 + 4096 - shape))_64_h200.json.gz
      echo "## the best modelled of $screen, seeded from the other shape"
      "$evo" replay "$sweep" --seed-from "$elsewhere" "${modelled[@]}" --screen "$screen" --strategy evolve --evals 100 \
        --budgets 10,25,50,100 --runs "$runs"
    done
  done
done
