#!/usr/bin/env bash
# Models every genome of the recorded sweeps of our own families: OUT_FOLDER/SWEEP.csv, for evo replay --screen.
#   tests/bench/model_sweeps.sh OUT_FOLDER
# Takes half an hour of a core. A sweep that OUT_FOLDER holds already is not modelled again.
set -euo pipefail
out=${1:?usage: tests/bench/model_sweeps.sh OUT_FOLDER}
evo=${EVO:-build/release/cli/evo}
mkdir -p "$out"
for sweep in "$(dirname "$0")"/../data/sweeps/{,shared/}*.json.gz; do
  csv=$out/$(basename "$sweep" .json.gz).csv
  [ -e "$csv" ] || "$evo" model --against "$sweep" --failed-too --csv "$csv"
done
