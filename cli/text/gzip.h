#pragma once

#include <string>
#include <string_view>

namespace evo::cli {

/// The text as a gzip file, the same for the same text. Throws machine_error when memory runs out.
std::string gzipped(std::string_view text);

}  // namespace evo::cli
