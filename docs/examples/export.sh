#!/bin/sh
# The searches and exports of docs/use.md, in the current folder; evo is in PATH.
set -eu

# Attention over pages, as an engine calls it.
evo run --task fp8_attention --option layout=bshd --option page=64 --option cu_seqlens=true --option causal=true \
  --shapes 1,4,2,70,150,128 --evals 6 --seed 1
evo export --name paged_attention -o paged_attention.cu
evo export --format torch -o evo_fp8_attention

# Attention of one length, for a module of torch.
evo run --task fp8_sdpa --shapes 1,2,128,128 --evals 6 --seed 1
evo export --format torch -o evo_fp8_sdpa
