#pragma once

#include <string>
#include <utility>
#include <vector>

namespace evo {

/// A whole T1 file (KernelSpecification and ConfigurationSpace; github.com/odgaard/TuningSchema) as the short form that
/// says the same.
struct T1Form {
  std::string text;  ///< The short form's JSON.
  /// Its places and those of the T1 file: "FILE: grid[0]", "FILE: KernelSpecification.GlobalSize.X".
  std::vector<std::pair<std::string, std::string>> places;
};

/// Whether a JSON text has a KernelSpecification.
bool is_t1(const std::string& text);

/// The sizes are those of the file, and there are kernels for no others. Without a word for it in T1, the first legal
/// genome is the reference. Throws usage_error "FILE: KEY: reason" also for what T1 says and evo has not.
T1Form short_form_of_t1(const std::string& text, const std::string& file);

}  // namespace evo
