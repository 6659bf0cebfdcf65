#!/usr/bin/env bash
# Evaluations that surrogate screening, a pre-search and a warm start from another shape save, on recorded sweeps of our
# own families (docs/studies/search.md).
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
echo "## the best modelled of 4, after a pre-search of 128 genomes"
"$evo" replay tests/data/sweeps/*.json.gz "${modelled[@]}" --screen 4 --presearch 128 --strategy evolve --evals 100 \
  --budgets 10,25,50,100 --runs "$runs"
# Two sweeps of each family that hold the same genomes, and two that hold none in common.
for sweeps in tests/data/sweeps/fp8_sdpa_mma_sync tests/data/sweeps/shared/fp8_sdpa_wgmma_500 tests/data/sweeps/fp8_sdpa_wgmma; do
  for shape in 512 4096; do
    sweep=${sweeps}_1_8_${shape}_64_h200.json.gz
    other=${sweeps}_1_8_$((512 + 4096 - shape))_64_h200.json.gz
    for screen in 1 4; do
      echo "## the best modelled of $screen, unseeded and seeded from the other shape"
      for seeds in "" "--seed-from $other"; do
        # shellcheck disable=SC2086
        "$evo" replay "$sweep" $seeds "${modelled[@]}" --screen "$screen" --strategy evolve --evals 100 --budgets 10,25,50,100 \
          --runs "$runs"
      done
    done
  done
done
echo "## unseeded and seeded on random halves of the sweeps that hold the same genomes"
for screen in 1 4; do "$(dirname "$0")/seed_table.py" 40 "$screen" "$models"; done
