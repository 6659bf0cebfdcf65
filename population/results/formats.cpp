#include "population/results/formats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <set>

#include "engine/base/error.h"
#include "population/results/csv_format.h"
#include "population/results/kernel_tuner_format.h"
#include "population/results/t4_format.h"

namespace evo {
namespace {

constexpr std::array kFormats = {
    ResultFormat{"csv", "a CSV file", csv_text, nullptr, nullptr},
    ResultFormat{"kerneltuner", "a Kernel Tuner cache", kernel_tuner_text, kernel_tuner_description, read_kernel_tuner},
    ResultFormat{"t4", "a T4 file", t4_text, t4_description, read_t4},
};

/// A member of each format that has a reader: "a or b".
std::string readable(std::string_view ResultFormat::*member) {
  std::vector<std::string_view> texts;
  for (const ResultFormat& format : kFormats)
    if (format.read != nullptr) texts.push_back(format.*member);
  return fmt::format("{}", fmt::join(texts, " or "));
}

}  // namespace

std::span<const ResultFormat> result_formats() {
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
  for (const ResultFormat& format : kFormats) {
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
  throw usage_error(
      fmt::format("{} was not written by evo export --format {}: it does not say what its results rank by", file,
                  readable(&ResultFormat::name)));
}

}  // namespace evo
