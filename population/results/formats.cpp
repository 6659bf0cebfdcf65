#include "population/results/formats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/error.h"
#include "population/results/recorded_results.h"

namespace evo {

/// By name; NAME_format.cpp has NAME_format().
#define EVO_RESULT_FORMATS(format) format(csv_format) format(kernel_tuner_format) format(t4_format)

#define EVO_DECLARE_FORMAT(format) ResultFormat format();
EVO_RESULT_FORMATS(EVO_DECLARE_FORMAT)
#undef EVO_DECLARE_FORMAT

namespace {

/// A member of each format that has a reader: "a or b".
std::string readable(std::string_view ResultFormat::*member) {
  std::vector<std::string_view> texts;
  for (const ResultFormat& format : result_formats())
    if (format.read != nullptr) texts.push_back(format.*member);
  return fmt::format("{}", fmt::join(texts, " or "));
}

}  // namespace

std::span<const ResultFormat> result_formats() {
#define EVO_CALL_FORMAT(format) format(),
  static const std::vector<ResultFormat> kFormats = {EVO_RESULT_FORMATS(EVO_CALL_FORMAT)};
#undef EVO_CALL_FORMAT
  return kFormats;
}

std::string readable_formats() {
  return readable(&ResultFormat::title);
}

Results read_results(std::string_view text, const std::string& file) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) {
    if (text.find("\"evo\"") != std::string_view::npos)
      throw usage_error(fmt::format("{} is cut off: evo export --format wrote it", file));
    return recorded_results(text, file);
  }
  const JsonPlace root = JsonPlace::read({{file, std::string(text)}}, file);
  for (const ResultFormat& format : result_formats()) {
    const std::optional<JsonPlace> place = format.read != nullptr ? format.description(root) : std::nullopt;
    if (!place) continue;
    const Description description = read_description(*place);
    Results results;
    results.info = description.info;
    std::set<std::string> seen;
    for (ResultRow& row : format.read(root, description)) {
      if (seen.insert(to_json(row.genome)).second) results.rows.push_back(std::move(row));
    }
    if (results.rows.empty()) throw usage_error(fmt::format("{} holds no results", file));
    return results;
  }
  return recorded_results(text, file);
}

}  // namespace evo
