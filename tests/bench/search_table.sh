#!/usr/bin/env bash
# The tables of docs/results/search.md: strategies on recorded spaces.
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
variants=evolve:good_share=1,evolve:pairs=0,evolve:spread=1,evolve:exploration=0,evolve:exploration=2
variants+=,evolve:near=0,evolve:patience=0,evolve:mutants=0,evolve:crossed=0,evolve:immigrants=0,evolve:bred=0,evolve:trees=4
"$evo" replay "${five_files[@]}" --strategy evolve,"$variants" --runs "$(((runs + 1) / 2))" --json >"$out/ablation.json"
"$(dirname "$0")/leave_one_out.py" "$out/ablation.json"
