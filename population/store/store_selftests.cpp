// Store: records and finds self-tests.
#include <fmt/format.h>

#include "population/store/database.h"
#include "population/store/rows.h"
#include "population/store/store.h"

namespace evo {

void Store::record_selftest(const SelftestRecord& record) {
  static const std::string kInsert = fmt::format(
      "INSERT INTO selftest (task, device, passed, judged, wrong, salt, evo_version, nvrtc_version, at) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, {})",
      kNow);
  Database& database = *database_;
  WriteTransaction transaction(database);
  const std::int64_t task = task_id(database, record.task, record.task_hash, {});
  const std::int64_t device = device_id(database, record.device);
  database.prepare(kInsert)
      .bind(task, device, record.passed, record.judged, record.wrong, record.salt, record.evo_version,
            record.nvrtc_version)
      .run();
  transaction.commit();
}

std::optional<SelftestRecord> Store::last_selftest(std::string_view task_hash, std::string_view device_kind) const {
  Statement row = database_->prepare(
      "SELECT task.name, task.hash, label, kind, device.name, arch, uuid, driver, facts, passed, judged, "
      "wrong, salt, evo_version, nvrtc_version, at "
      "FROM selftest JOIN task ON task.id = selftest.task JOIN device ON device.id = selftest.device "
      "WHERE task.hash = ? AND kind = ? ORDER BY selftest.id DESC LIMIT 1");
  row.bind(task_hash, device_kind);
  if (!row.next()) return std::nullopt;
  return SelftestRecord{row.text(0),
                        row.text(1),
                        {row.text(2), row.text(3), row.text(4), row.text(5), row.text(6), row.text(7),
                         stored_bindings(*database_, row.text(8))},
                        row.integer(9) != 0,
                        row.natural(10),
                        row.natural(11),
                        row.natural(12),
                        row.text(13),
                        row.text(14),
                        row.text(15)};
}

}  // namespace evo
