#!/bin/sh
# Installs the packages of docs/use.md that export.sh has left in the current folder.
set -eu

pip install --no-build-isolation --no-deps ./evo_fp8_attention ./evo_fp8_sdpa
