#include "population/store/row_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/text.h"
#include "population/store/evaluation_rows.h"
#include "population/store/record_rows.h"
#include "population/store/records.h"
#include "population/store/rows.h"

namespace evo {
namespace {

/// How the rows of a table are read. A query's first column is the key, and `read` throws for what it cannot read.
struct Reader {
  std::string table, key;
  std::string columns;  ///< Behind the key.
  std::string joined = {};
  std::function<void(const Statement&)> read;
};

template <class Record>
Reader records(std::string table, std::string key) {
  return {std::move(table), std::move(key), columns_of<Record>(), "",
          [](const Statement& row) { read_record<Record>(row, 1); }};
}

/// Finite and not negative, or unknown.
void require_time(const Statement& row, int column) {
  const std::optional<double> us = row.optional_number(column);
  if (us && !(*us >= 0 && *us < 1e15)) throw row.unreadable(fmt::format("{} is no {}", *us, row.column_name(column)));
}

void read_program(const Statement& row) {
  const std::string source = intact_text(row, 1);
  if (hash_of_source(source, value_of<int>(row, 4)) != row.text(3))
    throw row.unreadable("a program's source is not the one that was evaluated");
  value_of<Bindings>(row, 5);
}

void read_path(const Statement& row) {
  inner_path(row, 1);
}

/// It stands in commands for people to run.
void read_arch(const Statement& row) {
  const std::string arch = row.text(1);
  if (!std::ranges::all_of(arch, is_identifier_character))
    throw row.unreadable(fmt::format("'{}' is no architecture", arch));
}

/// Each behind those that it refers to.
const std::vector<Reader>& readers() {
  static const std::vector<Reader> kReaders = {
      {"text", "id", "content, hash", "", [](const Statement& row) { intact_text(row, 1); }},
      {"task_file", "task", "path", "", read_path},
      records<DeviceRecord>("device", "number"),
      {"device", "number", "arch", "", read_arch},
      {"run", "id", columns_of<RunInfo>() + ", status", "",
       [](const Statement& row) {
         RunInfo info;
         RunStatus status{};
         int column = 1;
         read_next(row, column, info);
         read_next(row, column, status);
       }},
      {"candidate", "id", "genome", "", [](const Statement& row) { value_of<Genome>(row, 1); }},
      {"program", "candidate", "content, hash, source_hash, max_registers, specialisation",
       "JOIN text ON text.id = program.source", read_program},
      {"candidate_file", "candidate", "path", "", read_path},
      records<Evaluation>("evaluation", "candidate"),
      {"evaluation", "candidate", "latency_us", "", [](const Statement& row) { require_time(row, 1); }},
      records<Build>("build", "candidate"),
      records<KernelBuild>("build_kernel", "candidate"),
      records<CaseError>("case_error", "candidate"),
      records<Timing>("timing", "candidate"),
      records<Residency>("residency", "candidate"),
      records<Mismatch>("mismatch", "candidate"),
      records<EliteComparison>("elite_comparison", "candidate"),
      records<Original>("original", "candidate"),
      records<EliteCheck>("elite_check", "candidate"),
      records<SelftestRecord>("selftest", "id"),
      records<AttackRecord>("attack", "id"),
      records<RivalResult>("rival", "sitting"),
      {"sitting", "id", "rounds_us", "", [](const Statement& row) { value_of<std::vector<double>>(row, 1); }},
      {"counter", "candidate", "launch", "",
       [](const Statement& row) {
         if (row.natural(1) >= kMostLaunches) throw row.unreadable("a counter's launch has an impossible number");
       }},
  };
  return kReaders;
}

}  // namespace

std::string BadRow::text() const {
  const std::string whose =
      key == "id" || key == "number" ? std::to_string(owner) : fmt::format("of {} {}", key, owner);
  return fmt::format("the row {} {} cannot be read: {}", table, whose, why);
}

std::vector<BadRow> bad_rows(Database& database) {
  std::vector<BadRow> bad;
  for (const Reader& reader : readers()) {
    Statement row = database.prepare(
        fmt::format("SELECT {0}.{1}, {2} FROM {0} {3}", reader.table, reader.key, reader.columns, reader.joined));
    while (row.next()) {
      try {
        reader.read(row);
      } catch (const Error& error) {
        const std::size_t ahead = std::strlen(row.unreadable("").what());
        bad.push_back({reader.table, reader.key, row.integer(0), std::string(error.what()).substr(ahead)});
      }
    }
  }
  return bad;
}

}  // namespace evo
