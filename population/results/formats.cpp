#include "population/results/formats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "engine/base/error.h"

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
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || text[begin] != '{') {
    throw usage_error(fmt::format("{} is not JSON: results are {}, as evo export --format writes them", file,
                                  readable(&ResultFormat::title)));
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
  // Kernel Tuner's own caches, and T4 files of others.
  const bool of_others = root.is_object() && (root.find("cache") || root.find("results"));
  throw usage_error(fmt::format(
      "{} was not written by evo export --format {}: it does not say what its results rank by{}", file,
      readable(&ResultFormat::name),
      of_others ? fmt::format("; it holds times without kernels: evo replay {} searches in them", file) : ""));
}

}  // namespace evo
