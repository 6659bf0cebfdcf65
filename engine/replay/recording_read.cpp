#include "engine/replay/recording_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/csv.h"
#include "engine/base/error.h"
#include "engine/base/text.h"

namespace evo {
namespace {

using Json = nlohmann::ordered_json;

/// Entries while a file is read, and what its columns hold.
struct Table {
  std::string name;
  std::vector<std::string> genes;
  std::set<std::string> fractional;
  std::vector<RecordedEntry> entries;

  [[noreturn]] void fail(const std::string& reason) const {
    throw usage_error(fmt::format("{}: configuration {}: {}", name, entries.size() + 1, reason));
  }

  void set(RecordedEntry& entry, const std::string& gene, const Json& value) {
    if (entries.empty() && std::find(genes.begin(), genes.end(), gene) == genes.end()) genes.push_back(gene);
    if (std::find(genes.begin(), genes.end(), gene) == genes.end()) genes.push_back(gene);
    if (value.is_boolean()) {
      entry.genes[gene] = value.get<bool>();
    } else if (value.is_number_integer()) {
      entry.genes[gene] = value.get<std::int64_t>();
    } else if (value.is_number()) {
      fractional.insert(gene);
      entry.genes[gene] = value.dump();
    } else if (value.is_string()) {
      entry.genes[gene] = value.get<std::string>();
    } else {
      fail(fmt::format("{} is neither a number, a boolean nor a string", gene));
    }
  }

  Recording finish() {
    // 1 and 1.5 in one column: both are decimals.
    for (RecordedEntry& entry : entries) {
      for (const std::string& gene : fractional) {
        const auto found = entry.genes.find(gene);
        if (found == entry.genes.end()) continue;
        if (const auto* number = std::get_if<std::int64_t>(&found->second))
          found->second = fmt::format("{}", static_cast<double>(*number));
      }
    }
    return make_recording(name, genes, {fractional.begin(), fractional.end()}, entries);
  }
};

const Json* member(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

const Json* member(const Json* object, std::string_view key) {
  return object ? member(*object, key) : nullptr;
}

double number_at(const Json& object, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    const Json* value = member(object, key);
    if (value && value->is_number()) return value->get<double>();
  }
  return 0;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

// Milliseconds in a unit; 0 for a word that names none.
double milliseconds_in(const std::string& unit) {
  const std::string word = lower(unit);
  if (word == "s" || word == "seconds") return 1e3;
  if (word == "ms" || word == "milliseconds" || word == "miliseconds") return 1;
  if (word == "us" || word == "microseconds") return 1e-3;
  if (word == "ns" || word == "nanoseconds") return 1e-6;
  return 0;
}

double unit_of(const Table& table, const Json* word) {
  if (!word || !word->is_string() || word->get<std::string>().empty()) return 1;
  const double unit = milliseconds_in(word->get<std::string>());
  if (unit == 0) {
    throw usage_error(
        fmt::format("{}: unknown time unit '{}'; there are seconds, milliseconds, microseconds, nanoseconds",
                    table.name, word->get<std::string>()));
  }
  return unit;
}

// The verdict that a status of any format stands for.
Verdict verdict_of(const std::string& status) {
  const std::string word = lower(status);
  const auto has = [&](std::string_view part) { return word.find(part) != std::string::npos; };
  if (word == "ok" || word == "correct" || word == "valid") return Verdict::valid;
  if (has("resources")) return Verdict::over_resources;
  if (has("compil")) return Verdict::compile_failed;
  if (has("timeout") || has("timed_out")) return Verdict::timed_out;
  if (has("correctness") || has("validation") || has("wrong")) return Verdict::wrong_answer;
  if (has("invalid") || has("constraint") || has("limits") || has("illegal")) return Verdict::illegal;
  return Verdict::launch_failed;
}

// A time is valid when it is a positive, finite number; Kernel Tuner has written 1e20 for failures.
bool is_time(const Json* value) {
  return value && value->is_number() && std::isfinite(value->get<double>()) && value->get<double>() > 0 &&
         value->get<double>() < 1e20;
}

void settle(RecordedEntry& entry, const Json* time, const std::string& status, double milliseconds_per_unit) {
  entry.verdict = verdict_of(status);
  if (entry.verdict != Verdict::valid) return;
  if (is_time(time)) {
    entry.latency_us = time->get<double>() * milliseconds_per_unit * 1e3;
  } else {
    entry.verdict = Verdict::launch_failed;
  }
}

// --- Kernel Tuner

std::string failure_name(const Json* error) {
  if (!error || error->is_null()) return "ok";
  if (error->is_string()) return error->get<std::string>();
  return "RuntimeFailedConfig";
}

Recording read_kernel_tuner(const Json& root, Table table) {
  std::vector<std::string> keys;
  if (const Json* listed = member(root, "tune_params_keys")) {
    for (const Json& key : *listed) keys.push_back(key.is_string() ? key.get<std::string>() : key.dump());
  }
  if (keys.empty()) throw usage_error(fmt::format("{}: no tune_params_keys", table.name));
  const Json& cache = *member(root, "cache");
  if (!cache.is_object()) throw usage_error(fmt::format("{}: cache: expected an object", table.name));
  for (const auto& [key, item] : cache.items()) {
    RecordedEntry entry;
    for (const std::string& gene : keys) {
      const Json* value = member(item, gene);
      if (!value) table.fail(fmt::format("no value of {}", gene));
      table.set(entry, gene, *value);
    }
    const Json* time = member(item, "time");
    std::string status = failure_name(member(item, "__error__"));
    if (status == "ok" && time && time->is_string()) {
      const Json* verdict = member(item, "verdict");  // evo's own files say more
      status = (verdict && verdict->is_string() ? *verdict : *time).get<std::string>();
    }
    settle(entry, time, status, 1);
    entry.cost_s = (number_at(item, {"compile_time"}) + number_at(item, {"benchmark_time"})) / 1e3;
    table.entries.push_back(std::move(entry));
  }
  return table.finish();
}

// --- T4

const Json* measured_time(const Json& item) {
  const Json* measurements = member(item, "measurements");
  if (!measurements) return nullptr;
  std::string wanted = "time";
  if (const Json* objectives = member(item, "objectives");
      objectives && objectives->is_array() && !objectives->empty() && objectives->front().is_string())
    wanted = objectives->front().get<std::string>();
  for (const Json& measurement : *measurements) {
    const Json* named = member(measurement, "name");
    if (named && *named == wanted) return &measurement;
  }
  return nullptr;
}

Recording read_t4(const Json& root, Table table) {
  const double file_unit = unit_of(table, member(member(root, "metadata"), "timeunit"));
  for (const Json& item : *member(root, "results")) {
    RecordedEntry entry;
    const Json* configuration = member(item, "configuration");
    if (!configuration || !configuration->is_object()) table.fail("no configuration");
    for (const auto& [gene, value] : configuration->items()) table.set(entry, gene, value);
    const Json* invalidity = member(item, "invalidity");
    const std::string status = invalidity && invalidity->is_string() ? invalidity->get<std::string>() : "correct";
    const Json* measurement = measured_time(item);
    const Json* own_unit = member(measurement, "unit");
    const bool has_unit = own_unit && own_unit->is_string() && !own_unit->get<std::string>().empty();
    const double unit = has_unit ? unit_of(table, own_unit) : file_unit;
    settle(entry, member(measurement, "value"), status, unit);
    if (const Json* times = member(item, "times")) {
      double spent = number_at(*times, {"compilation", "compilation_time"});
      double benchmark = number_at(*times, {"benchmark", "benchmark_time"});
      const Json* samples = member(*times, "runtimes");
      if (benchmark == 0 && samples && samples->is_array()) {
        for (const Json& sample : *samples) benchmark += sample.is_number() ? sample.get<double>() : 0;
      }
      entry.cost_s = (spent + benchmark) * file_unit / 1e3;
    }
    table.entries.push_back(std::move(entry));
  }
  return table.finish();
}

// --- KTT

Recording read_ktt(const Json& root, Table table) {
  const double unit = unit_of(table, member(member(root, "Metadata"), "TimeUnit"));
  for (const Json& item : *member(root, "Results")) {
    RecordedEntry entry;
    const Json* configuration = member(item, "Configuration");
    if (!configuration || !configuration->is_array()) table.fail("no Configuration");
    for (const Json& pair : *configuration) {
      const Json* gene = member(pair, "Name");
      const Json* value = member(pair, "Value");
      if (!gene || !gene->is_string() || !value) table.fail("Configuration: expected pairs of Name and Value");
      table.set(entry, gene->get<std::string>(), *value);
    }
    const Json* status = member(item, "Status");
    settle(entry, member(item, "TotalDuration"), status && status->is_string() ? status->get<std::string>() : "Ok",
           unit);
    const double spent =
        (entry.latency_us ? number_at(item, {"TotalDuration"}) : 0) + number_at(item, {"TotalOverhead"});
    entry.cost_s = spent * unit / 1e3;
    table.entries.push_back(std::move(entry));
  }
  return table.finish();
}

// --- CSV

Json csv_value(const std::string& cell) {
  const Json parsed = Json::parse(cell, nullptr, false);
  if (!parsed.is_discarded() && (parsed.is_number() || parsed.is_boolean())) return parsed;
  if (cell == "True") return true;
  if (cell == "False") return false;
  return cell;
}

Recording read_values(const Csv& csv, Table table) {
  const std::optional<std::size_t> status = csv.column("status");
  const std::optional<std::size_t> time = csv.column("time_ms");
  if (!status || !time) {
    throw usage_error(
        fmt::format("{}: neither a Kernel Tuner cache, T4 or KTT results, nor CSV with the columns status "
                    "and time_ms after the genes",
                    table.name));
  }
  for (const Csv::Row& row : csv.rows) {
    RecordedEntry entry;
    for (std::size_t gene = 0; gene < *status; ++gene) table.set(entry, csv.names[gene], csv_value(row.cells[gene]));
    const Json measured = csv_value(row.cells[*time]);
    settle(entry, &measured, row.cells[*status], 1);
    for (const std::string_view name : {"compile_ms", "bench_ms"}) {
      const std::optional<std::size_t> at = csv.column(name);
      const Json cost = at ? csv_value(row.cells[*at]) : Json();
      if (cost.is_number()) entry.cost_s += cost.get<double>() / 1e3;
    }
    table.entries.push_back(std::move(entry));
  }
  return table.finish();
}

// --- JSON

// Without Kernel Tuner's lists of samples, which are most of a file.
Json parse(std::string_view text) {
  std::string last_key;
  return Json::parse(
      text,
      [&](int, Json::parse_event_t event, Json& parsed) {
        if (event == Json::parse_event_t::key) last_key = parsed.get<std::string>();
        return !(event == Json::parse_event_t::array_start && last_key == "times");
      },
      false);
}

// A file that is still being appended to ends after an entry, or within one.
Json parse_open_ended(std::string_view text) {
  std::string_view body = trim(text);
  while (!body.empty() && (body.back() == ',' || body.back() == '\n' || body.back() == ' ')) body.remove_suffix(1);
  Json parsed = parse(std::string(body) + "}}");
  if (!parsed.is_discarded()) return parsed;
  const std::size_t last_entry = body.rfind("},");
  return last_entry == std::string_view::npos ? parsed : parse(std::string(body.substr(0, last_entry + 1)) + "}}");
}

/// What is read becomes JSON in many places, which holds nothing else. JSON is checked where it is parsed.
void check_is_utf8(std::string_view text, const std::string& name) {
  try {
    static_cast<void>(Json(text).dump());
  } catch (const Json::type_error&) {
    throw usage_error(fmt::format("{}: is no UTF-8 text", name));
  }
}

}  // namespace

Recording read_recording(std::string_view text, const std::string& name) {
  const Table table{name, {}, {}, {}};
  if (trim(text).empty()) throw usage_error(fmt::format("{}: is empty", name));
  if (trim(text).front() != '{') {
    check_is_utf8(text, name);
    return read_values(read_csv(text, name), table);
  }
  Json root = parse(text);
  if (root.is_discarded()) root = parse_open_ended(text);
  if (root.is_discarded()) throw usage_error(fmt::format("{}: malformed JSON", name));
  if (member(root, "cache")) return read_kernel_tuner(root, table);
  const Json* t4 = member(root, "results");
  if (t4 && t4->is_array()) return read_t4(root, table);
  const Json* ktt = member(root, "Results");
  if (ktt && ktt->is_array()) return read_ktt(root, table);
  throw usage_error(
      fmt::format("{}: neither a Kernel Tuner cache (cache) nor T4 (results) nor KTT results (Results)", name));
}

}  // namespace evo
