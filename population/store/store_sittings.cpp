// Store: sittings of candidates with their rivals.

#include <fmt/format.h>

#include "engine/base/error.h"
#include "population/store/database.h"
#include "population/store/record_rows.h"
#include "population/store/rows.h"
#include "population/store/store.h"

namespace evo {
namespace {

std::vector<RivalResult> rivals_of(Database& database, std::int64_t sitting) {
  static const std::string kSelect =
      "SELECT " + columns_of<RivalResult>() + " FROM rival WHERE sitting = ? ORDER BY position";
  return read_rows(database, kSelect, sitting, [&](const Statement& row) { return read_record<RivalResult>(row); });
}

}  // namespace

const RivalResult* best_rival(const Sitting& sitting) {
  const RivalResult* best = nullptr;
  for (const RivalResult& rival : sitting.rivals) {
    if (rival.verdict != Verdict::valid || !rival.median_us) continue;
    if (best == nullptr || *rival.median_us < *best->median_us) best = &rival;
  }
  return best;
}

void Store::record_sitting(Sitting sitting) {
  Database& database = *database_;
  WriteTransaction transaction(database);
  Statement known = database.prepare("SELECT 1 FROM candidate WHERE id = ?");
  known.bind(sitting.candidate);
  if (!known.next())
    throw usage_error(fmt::format("{} has no candidate {}", database.path().string(), sitting.candidate));
  sitting.at = now_of(database);
  RecordInserter::of<Sitting>(database, "sitting", "device").insert(sitting, device_id(database, sitting.device));
  const std::int64_t id = database.last_id();
  auto rivals = RecordInserter::of<RivalResult>(database, "rival", "sitting, position");
  std::int64_t position = 0;
  for (const RivalResult& rival : sitting.rivals) rivals.insert(rival, id, ++position);
  transaction.commit();
}

std::vector<Sitting> Store::sittings(std::optional<CandidateId> candidate) const {
  const ReadTransaction transaction(*database_);
  return read_sittings(*database_, candidate);
}

std::vector<Sitting> read_sittings(Database& database, std::optional<CandidateId> candidate) {
  static const std::string kSelect =
      "SELECT sitting.id, run, " + columns_of<DeviceRecord>("device.") + ", " + columns_of<Sitting>("sitting.") +
      " FROM sitting JOIN device ON device.number = sitting.device JOIN candidate ON candidate.id = sitting.candidate "
      "WHERE ?1 IS NULL OR sitting.candidate = ?1 ORDER BY sitting.id DESC";
  Statement rows = database.prepare(kSelect);
  rows.bind(candidate);
  std::vector<Sitting> sittings;
  while (rows.next()) {
    Sitting& sitting = sittings.emplace_back();
    std::int64_t id = 0;
    read_row(rows, id, sitting.run, sitting.device, sitting);
    sitting.rivals = rivals_of(database, id);
  }
  return sittings;
}

}  // namespace evo
