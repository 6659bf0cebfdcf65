// Store: records and finds self-tests.
#include "population/store/database.h"
#include "population/store/record_rows.h"
#include "population/store/rows.h"
#include "population/store/store.h"

namespace evo {

void Store::record_selftest(SelftestRecord record) {
  Database& database = *database_;
  WriteTransaction transaction(database);
  record.at = now_of(database);
  RecordInserter::of<SelftestRecord>(database, "selftest", "task, device")
      .insert(record, task_id(database, record.task, record.task_hash, {}), device_id(database, record.device));
  transaction.commit();
}

std::optional<SelftestRecord> Store::last_selftest(std::string_view task_hash, std::string_view device_kind) const {
  static const std::string kSelect =
      "SELECT task.name, task.hash, " + columns_of<DeviceRecord>("device.") + ", " +
      columns_of<SelftestRecord>("selftest.") +
      " FROM selftest JOIN task ON task.id = selftest.task JOIN device ON device.number = selftest.device "
      "WHERE task.hash = ? AND kind = ? ORDER BY selftest.id DESC LIMIT 1";
  Statement row = database_->prepare(kSelect);
  row.bind(task_hash, device_kind);
  if (!row.next()) return std::nullopt;
  SelftestRecord record;
  read_row(row, record.task, record.task_hash, record.device, record);
  return record;
}

}  // namespace evo
