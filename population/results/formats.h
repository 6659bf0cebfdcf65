#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "population/results/description.h"

/// The formats in which results are written for other tools and read back. A new format is a file with its
/// writer and its reader, and a name in the list of formats.cpp.
namespace evo {

struct ResultFormat {
  std::string_view name;   ///< As `evo export --format` takes it.
  std::string_view title;  ///< "a Kernel Tuner cache".
  std::string (*write)(const Results& results) = nullptr;
  /// The description within a file of this format; empty for other files. Null: the format has no reader.
  std::optional<JsonPlace> (*description)(const JsonPlace& root) = nullptr;
  std::vector<ResultRow> (*read)(const JsonPlace& root, const Description& description) = nullptr;
};

/// By name.
std::span<const ResultFormat> result_formats();

/// The formats that can be read back: "a Kernel Tuner cache or a T4 file".
std::string readable_formats();

/// Results from the text of a file of any format that has a reader, without families; each genome once. The file is not
/// trusted. Throws usage_error naming `file` and the place: also for a file without a description, which evo has not
/// written.
Results read_results(std::string_view text, const std::string& file);

}  // namespace evo
