#include "population/store/rows.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "population/store/codec.h"

namespace evo {
namespace {

template <class Read>
auto readable(const Database& database, Read&& read) -> decltype(read()) {
  try {
    return read();
  } catch (const Error& error) {
    throw machine_error(fmt::format("database {} has an unreadable row: {}", database.path().string(), error.what()));
  }
}

}  // namespace

std::string now_of(Database& database) {
  Statement row = database.prepare(fmt::format("SELECT {}", kNow));
  row.next();
  return row.text(0);
}

Genome stored_genome(const Database& database, const std::string& json) {
  return readable(database, [&] { return genome_from_json(json); });
}

Bindings stored_bindings(const Database& database, const std::string& json) {
  return readable(database, [&] { return bindings_from_json(json); });
}

Target stored_target(const Database& database, const std::string& json) {
  return readable(database, [&] { return target_from_json(json); });
}

std::vector<Seed> stored_seeds(const Database& database, const std::string& json) {
  return readable(database, [&] { return seeds_from_json(json); });
}

std::int64_t store_text(Database& database, const std::string& content) {
  const std::string hash = hash_hex(content);
  Statement row = database.prepare("SELECT id FROM text WHERE hash = ?");
  row.bind(hash);
  if (row.next()) return row.integer(0);
  database.prepare("INSERT INTO text (hash, content) VALUES (?, ?)").bind(hash, content).run();
  return database.last_id();
}

DeviceRecord read_device(const Database& database, const Statement& row, int first) {
  return {row.text(first),
          row.text(first + 1),
          row.text(first + 2),
          row.text(first + 3),
          row.text(first + 4),
          row.text(first + 5),
          stored_bindings(database, row.text(first + 6))};
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
  const std::string facts = bindings_to_json(device.facts);
  database
      .prepare(
          "INSERT INTO device (key, label, kind, name, arch, uuid, driver, facts) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
          "ON CONFLICT DO NOTHING")
      .bind(device_key(device), device.id, device.kind, device.name, device.arch, device.uuid, device.driver, facts)
      .run();
  Statement row = database.prepare(
      "SELECT id FROM device WHERE label = ? AND kind = ? AND name = ? AND arch = ? AND uuid = ? AND "
      "driver = ? AND facts = ?");
  row.bind(device.id, device.kind, device.name, device.arch, device.uuid, device.driver, facts).next();
  return row.integer(0);
}

}  // namespace evo
