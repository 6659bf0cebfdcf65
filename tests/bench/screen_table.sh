#!/usr/bin/env bash
# What screening with the cost model, and seeds of another shape, save on recorded sweeps of our own families
# (docs/results/search.md).
#   tests/bench/screen_table.sh [RUNS] [MODELS_FOLDER]
# MODELS_FOLDER: see model_sweeps.sh.
set -euo pipefail
runs=${1:-30}
models=${2:-runs/screen}
evo=${EVO:-build/release/cli/evo}
"$(dirname "$0")/model_sweeps.sh" "$models"
modelled=()
for csv in "$models"/*.csv; do modelled+=(--modelled "$csv"); done
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
