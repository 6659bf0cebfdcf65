#include "population/store/rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/hash.h"
#include "engine/base/text.h"
#include "population/store/record_rows.h"

namespace evo {
std::string now_of(Database& database) {
  Statement row = database.prepare("SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')");
  row.next();
  return row.text(0);
}

std::int64_t store_text(Database& database, const std::string& content) {
  const std::string hash = hash_hex(content);
  Statement row = database.prepare("SELECT id FROM text WHERE hash = ?");
  row.bind(hash);
  if (row.next()) return row.integer(0);
  database.prepare("INSERT INTO text (hash, content) VALUES (?, ?)").bind(hash, content).run();
  return database.last_id();
}

std::string intact_text(const Statement& row, int column) {
  std::string content = row.text(column);
  if (const std::string hash = row.text(column + 1); hash_hex(content) != hash)
    throw row.unreadable(fmt::format("the text {} is not as it was stored", hash));
  return content;
}

std::string inner_path(const Statement& row, int column) {
  std::string path = row.text(column);
  const std::vector<std::string> steps = split(path, '/');
  const bool is_inner = std::ranges::all_of(steps, [](const std::string& step) {
    return !step.empty() && step != "." && step != ".." &&
           std::ranges::none_of(step, [](unsigned char c) { return c < ' ' || c == 0x7f || c == '\\'; });
  });
  if (!is_inner) throw row.unreadable(fmt::format("'{}' is no path of a file in a folder", path));
  return path;
}

std::int64_t task_id(Database& database, const std::string& task, const std::string& hash, const SourceTree& files) {
  Statement insert = database.prepare("INSERT INTO task (name, hash) VALUES (?, ?) ON CONFLICT DO NOTHING");
  insert.bind(task, hash).run();
  Statement row = database.prepare("SELECT id FROM task WHERE name = ? AND hash = ?");
  row.bind(task, hash).next();
  const std::int64_t id = row.integer(0);
  // Imported results bring a task's hash without its files.
  Statement known = database.prepare("SELECT 1 FROM task_file WHERE task = ?");
  if (known.bind(id).next()) return id;
  Statement file = database.prepare("INSERT INTO task_file VALUES (?, ?, ?)");
  for (const auto& [path, content] : files) {
    file.bind(id, path, store_text(database, content)).run();
  }
  return id;
}

std::int64_t device_id(Database& database, const DeviceRecord& device) {
  static const std::string kColumns = columns_of<DeviceRecord>();
  Statement known =
      database.prepare(fmt::format("SELECT number FROM device WHERE ({}) = ({})", kColumns, places_of(kColumns)));
  bind_record(known, device);
  if (known.next()) return known.integer(0);
  RecordInserter::of<DeviceRecord>(database, "device", "key").insert(device, device_key(device));
  return database.last_id();
}

}  // namespace evo
