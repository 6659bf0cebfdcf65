#!/bin/sh
# Puts a copy of this host's results into a folder that hosts share: publish.sh SHARED [DATABASE [NAME]]
set -eu
shared=$1
database=${2:-runs/evo.db}
name=${3:-$(hostname)}

# A complete copy on a local disk, also while runs write; then it appears in the folder all at once.
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
evo db merge "$database" --db "$here/copy.db"
cp "$here/copy.db" "$shared/.$name.new"
mv "$shared/.$name.new" "$shared/$name.db"
