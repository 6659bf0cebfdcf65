#!/bin/sh
# Builds the C++ program of docs/use.md from what export.sh has left in the current folder.
set -eu

workspace=$(grep -q "paged_attention_workspace_bytes(" paged_attention.cu && echo -DWORKSPACE || true)
nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a $workspace paged_attention.cu paged_batch.cpp -o paged_batch
