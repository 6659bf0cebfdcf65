// Store: sittings of candidates with their rivals.

#include <fmt/format.h>

#include "engine/base/error.h"
#include "population/store/database.h"
#include "population/store/record_rows.h"
#include "population/store/rows.h"
#include "population/store/store.h"

namespace evo {
namespace {

void insert_turns(Database& database, std::int64_t sitting, std::int64_t position,
                  const std::vector<double>& rounds_us) {
  Statement insert = database.prepare("INSERT INTO turn VALUES (?, ?, ?, ?)");
  std::int64_t round = 0;
  for (const double us : rounds_us) insert.bind(sitting, position, round++, us).run();
}

void insert_rival(Database& database, std::int64_t sitting, std::int64_t position, const RivalResult& rival) {
  RecordInserter::of<RivalResult>(database, "rival", "sitting, position").insert(rival, sitting, position);
  insert_turns(database, sitting, position, rival.rounds_us);
}

std::vector<double> turns_of(Database& database, std::int64_t sitting, std::int64_t position) {
  Statement rows = database.prepare("SELECT us FROM turn WHERE sitting = ? AND position = ? ORDER BY round");
  rows.bind(sitting, position);
  std::vector<double> rounds_us;
  while (rows.next()) rounds_us.push_back(rows.number(0));
  return rounds_us;
}

std::vector<RivalResult> rivals_of(Database& database, std::int64_t sitting) {
  static const std::string kSelect =
      "SELECT position, " + columns_of<RivalResult>() + " FROM rival WHERE sitting = ? ORDER BY position";
  return read_rows(database, kSelect, sitting, [&](const Statement& row) {
    auto rival = read_record<RivalResult>(row, 1);
    rival.rounds_us = turns_of(database, sitting, row.integer(0));
    if (!rival.median_us) rival.ratio = rival.ratio_low = rival.ratio_high = 0;
    return rival;
  });
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

void Store::record_sitting(const Sitting& sitting) {
  static const std::string kInsert = fmt::format(
      "INSERT INTO sitting (candidate, device, at, salt, evo_version, median_us, throttled) "
      "VALUES (?, ?, {}, ?, ?, ?, ?)",
      kNow);
  Database& database = *database_;
  WriteTransaction transaction(database);
  Statement known = database.prepare("SELECT 1 FROM candidate WHERE id = ?");
  known.bind(sitting.candidate);
  if (!known.next())
    throw usage_error(fmt::format("{} has no candidate {}", database.path().string(), sitting.candidate));
  database.prepare(kInsert)
      .bind(sitting.candidate, device_id(database, sitting.device), sitting.salt, sitting.evo_version,
            sitting.median_us, sitting.throttled)
      .run();
  const std::int64_t id = database.last_id();
  insert_turns(database, id, 0, sitting.rounds_us);
  std::int64_t position = 0;
  for (const RivalResult& rival : sitting.rivals) insert_rival(database, id, ++position, rival);
  transaction.commit();
}

std::vector<Sitting> Store::sittings(std::optional<CandidateId> candidate) const {
  const ReadTransaction transaction(*database_);
  return read_sittings(*database_, candidate);
}

std::vector<Sitting> read_sittings(Database& database, std::optional<CandidateId> candidate) {
  Statement rows = database.prepare(
      "SELECT sitting.id, sitting.candidate, at, salt, evo_version, median_us, throttled, label, kind, name, arch, "
      "uuid, "
      "driver, facts, run FROM sitting JOIN device ON device.id = sitting.device "
      "JOIN candidate ON candidate.id = sitting.candidate WHERE ?1 IS NULL OR sitting.candidate = ?1 ORDER BY "
      "sitting.id DESC");
  rows.bind(candidate);
  std::vector<Sitting> sittings;
  while (rows.next()) {
    Sitting& sitting = sittings.emplace_back();
    sitting.candidate = rows.integer(1);
    sitting.at = rows.text(2);
    sitting.salt = rows.natural(3);
    sitting.evo_version = rows.text(4);
    sitting.median_us = rows.number(5);
    sitting.throttled = static_cast<int>(rows.integer(6));
    sitting.device = read_device(database, rows, 7);
    sitting.run = rows.integer(14);
    sitting.rounds_us = turns_of(database, rows.integer(0), 0);
    sitting.rivals = rivals_of(database, rows.integer(0));
  }
  return sittings;
}

}  // namespace evo
