#!/usr/bin/env bash
# progress.sh PLAN: reads what a build prints from stdin and says on stderr how far it is: "evo: building 57 of 141, about 3
# min left". On a terminal that line is rewritten; elsewhere one is written every half minute or tenth of the steps. Nothing
# is said of a build that compiles nothing. All steps are lines that begin with "[DONE/ALL SECONDS] " (NINJA_STATUS in
# cmake/setup.sh); PLAN holds those that `ninja -n` names. All other lines are swallowed: whoever builds keeps them.
#
# The time left: steps are weighed by their kind, and what is left takes as long for its weight as what is done. The weights
# are CPU seconds, about: a source of Unity/ is up to 32 in one, and a precompiled header has no code.
step='^\[([0-9]+)/([0-9]+) +([0-9]+)'

weigh() {
  case $1 in
    *"] Building "*/Unity/*) weight=20 ;;
    *"] Building "*cmake_pch*) weight=5 ;;
    *"] Building "*) weight=2 ;;
    *) weight=0 ;;
  esac
}

say() {
  if [ -t 2 ]; then printf '\r\033[Kevo: building %s' "$1" >&2; else echo "evo: building $1" >&2; fi
}

planned=0 planned_weight=0
while IFS= read -r line; do
  [[ $line =~ $step ]] || continue
  weigh "$line"
  planned=$((planned + 1)) planned_weight=$((planned_weight + weight))
done <"$1"

compiles= done_weight=0 said_at=-30 said_tenth=0
if [ "$planned_weight" -gt 0 ]; then
  compiles=1 said_at=0
  say "0 of $planned, some minutes the first time"
fi
while IFS= read -r line; do
  [[ $line =~ $step ]] || continue
  finished=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]} seconds=${BASH_REMATCH[3]}
  weigh "$line"
  done_weight=$((done_weight + weight))
  if [ "$weight" -gt 0 ]; then compiles=1; fi
  if [ -z "$compiles" ]; then continue; fi
  if ! [ -t 2 ] && [ "$seconds" -lt $((said_at + 30)) ] && [ $((finished * 10 / all)) -le "$said_tenth" ]; then continue; fi
  left=
  # The first seconds say little.
  if [ "$seconds" -ge 10 ] && [ "$done_weight" -gt 0 ]; then
    if [ "$all" = "$planned" ]; then rest=$((planned_weight - done_weight)); else rest=$((done_weight * (all - finished) / finished)); fi
    minutes=$(((seconds * rest / done_weight + 30) / 60))
    left=", about $minutes min left"
    if [ "$minutes" = 0 ]; then left=", less than a minute left"; fi
  fi
  said_at=$seconds said_tenth=$((finished * 10 / all))
  say "$finished of $all$left"
done
if [ -t 2 ] && [ -n "$compiles" ]; then printf '\r\033[K' >&2; fi
exit 0
