#!/bin/sh
# Brings what hosts have published into the team's database: collect.sh SHARED TEAM_DATABASE
set -eu
shared=$1
team=$2

# One at a time, and on copies: a file of another host may be replaced while it is read.
exec 9> "$team.lock"
flock -n 9 || exit 0
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
status=0
for published in "$shared"/*.db; do
  cp "$published" "$here/copy.db"
  evo db merge "$here/copy.db" --db "$team" || { echo "not merged: $published" >&2; status=1; }
done
exit $status
