#include "cli/edits/unproven_edits.h"

#include <vector>

#include "cli/subject/lookup.h"
#include "engine/edits/source_edit.h"
#include "engine/result/elite_check.h"

namespace evo::cli {

std::size_t drop_unproven_edits(Store& store, RunId run, const EliteFilter& board, bool keeps_front) {
  std::size_t dropped = 0;
  // Another one may take a place that becomes free.
  for (bool found = true; found;) {
    found = false;
    std::vector<EliteRow> rows = store.elites(board);
    if (keeps_front) {
      const std::vector<EliteRow> front = store.front(board);
      rows.insert(rows.end(), front.begin(), front.end());
    }
    for (const EliteRow& elite : rows) {
      if (elite.run != run || !is_provisional(elite.checks)) continue;
      const CandidateRow row = find_candidate(store, elite.candidate);
      if (row.evaluation.verdict != Verdict::valid || !edit_list_in(row.files)) continue;
      store.record_checks(elite.candidate, {elite.checks, why_edits_are_unproven(elite.checks)});
      found = true;
      ++dropped;
    }
  }
  return dropped;
}

}  // namespace evo::cli
