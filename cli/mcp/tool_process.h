#pragma once

#include <functional>
#include <string>
#include <vector>

namespace evo::cli {

/// What a command of this program has printed.
struct ToolOutput {
  std::string out;
  std::string last_error;  ///< The last line of its standard error.
  bool too_long = false;   ///< It printed more than is taken; it was ended.
};

/// Runs this program with arguments, and waits for its end. `told` gets each line of its standard error. When
/// `cancelled` says so, it is asked to end as by Ctrl-C, and killed when it does not. It ends with this process.
ToolOutput run_tool(const std::vector<std::string>& arguments, const std::function<void(const std::string&)>& told,
                    const std::function<bool()>& cancelled);

}  // namespace evo::cli
