// Store: records and finds the regimes of successful attacks.
#include "population/store/database.h"
#include "population/store/record_rows.h"
#include "population/store/rows.h"
#include "population/store/store.h"

namespace evo {

void Store::record_attack(AttackRecord record) {
  Database& database = *database_;
  WriteTransaction transaction(database);
  record.at = now_of(database);
  const std::int64_t task = task_id(database, record.task, record.task_hash, {});
  Statement same = database.prepare("SELECT 1 FROM attack WHERE task = ? AND regime = ?");
  if (!same.bind(task, record.regime).next())
    RecordInserter::of<AttackRecord>(database, "attack", "task, device")
        .insert(record, task, device_id(database, record.device));
  transaction.commit();
}

std::vector<AttackRecord> Store::attacks(std::string_view task_hash) const {
  static const std::string kSelect =
      "SELECT task.name, task.hash, " + columns_of<DeviceRecord>("device.") + ", " +
      columns_of<AttackRecord>("attack.") +
      " FROM attack JOIN task ON task.id = attack.task JOIN device ON device.number = attack.device "
      "WHERE task.hash = ? ORDER BY attack.id";
  Statement row = database_->prepare(kSelect);
  row.bind(task_hash);
  std::vector<AttackRecord> records;
  while (row.next()) {
    AttackRecord& record = records.emplace_back();
    read_row(row, record.task, record.task_hash, record.device, record);
  }
  return records;
}

}  // namespace evo
