#!/usr/bin/env bash
# The tables of docs/studies/search.md: strategies on recorded spaces.
#   tests/bench/search_table.sh SPACES_FOLDER [RUNS] [OUT_FOLDER]
# SPACES_FOLDER holds NAME.json.gz (Kernel Tuner caches) and may hold rivals.jsonl.gz (orders of other tuners).
set -euo pipefail
spaces=${1:?usage: tests/bench/search_table.sh SPACES_FOLDER [RUNS] [OUT_FOLDER]}
runs=${2:-100}
out=${3:-runs/search}
evo=${EVO:-build/release/cli/evo}
mkdir -p "$out"

four=(conv_milo__A4000 conv__RTX2080Ti dedisp__MI250X pnpoly__RTX3090)
files() { local name; for name in "$@"; do printf '%s\n' "$spaces/$name.json.gz"; done; }
mapfile -t four_files < <(files "${four[@]}")
mapfile -t five_files < <(files "${four[@]}" gemm__RTX3090)
rivals=()
[ -e "$spaces/rivals.jsonl.gz" ] && rivals=(--with "$spaces/rivals.jsonl.gz")

echo "## five spaces, one candidate in flight"
"$evo" replay "${five_files[@]}" --strategy evolve,random,annealing,genetic,local --runs "$runs" \
  --out "$out/orders.jsonl" --svg "$out/curves.svg"
echo "## the four spaces of the rivals"
"$evo" replay "${four_files[@]}" --strategy none --with "$out/orders.jsonl" "${rivals[@]}" --svg "$out/rivals.svg"
echo "## five spaces, eight candidates in flight"
"$evo" replay "${five_files[@]}" --strategy evolve --width 8 --runs "$runs"
echo "## ablation"
variants=evolve,evolve:good_share=1,evolve:failure=1,evolve:pairs=0,evolve:trees=4,evolve:exploration=0,evolve:spread=1
variants+=,evolve:bred=0,evolve:immigrants=0,evolve:beside=0,evolve:patience=0
"$evo" replay "${five_files[@]}" --strategy "$variants" --runs "$runs"
landscapes=${LANDSCAPES:-build/release/tests/bench/evo_bench_landscapes}
sweeps=$(dirname "$0")/../data/sweeps
models=${MODELS:-runs/screen}
echo "## all spaces, each problem judged by what was chosen on the others"
mapfile -t all_files < <(ls "$spaces"/*.json.gz "$sweeps"/*.json.gz | grep -v '\.T4\.')
"$evo" replay "${all_files[@]}" --strategy "random,$variants" --runs "$runs" --json >"$out/nested.json"
"$(dirname "$0")/nested.py" "$out/nested.json"
"$(dirname "$0")/model_sweeps.sh" "$models"
for screen in 1 4; do
  echo "## ablation on landscapes learnt from sweeps, the best predicted of $screen"
  "$landscapes" "$sweeps"/fp8_sdpa_wgmma_*.json.gz --strategy "$variants,random" --screen "$screen" --runs "$(((runs + 1) / 2))" \
    --modelled "$models"/fp8_sdpa_wgmma_*.csv
done
echo "## ablation on the sweeps"
"$evo" replay "$sweeps"/*.json.gz --strategy "$variants" --evals 200 --runs "$(((runs + 1) / 2))"
