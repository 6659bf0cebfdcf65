#pragma once

#include <string>
#include <utility>
#include <vector>

namespace evo {

/// Ten lines with Kernel Tuner's own keys as ten lines without them.
struct TunerForm {
  std::string text;  ///< The JSON.
  /// Its places and those of the file: "FILE: shared", "FILE: smem_args.size".
  std::vector<std::pair<std::string, std::string>> places;
};

/// Kernel Tuner's `kernel_name` and `kernel_source`, `smem_args`, `block_size_names`, `defines`, and one fixed size
/// instead of `shapes`. What evo has in another place is refused with its name. Throws usage_error "FILE: KEY: reason".
TunerForm form_of_tuner(const std::string& text, const std::string& file);

}  // namespace evo
