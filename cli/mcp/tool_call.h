#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/mcp/tools.h"

namespace evo::cli {

/// How far a call is: done, of how many (0: unknown), and in words.
using ProgressTold = std::function<void(double done, double all, const std::string& message)>;

/// The result of a tool: what its command printed, as text and, where it is JSON, as it is. What goes wrong is a
/// result, too, which says so, since an agent can act on it.
nlohmann::ordered_json call_tool(const std::string& name, const nlohmann::ordered_json& arguments,
                                 const ToolSettings& settings, ProgressTold progress,
                                 const std::function<bool()>& cancelled);

nlohmann::ordered_json tool_error(const std::string& message);

}  // namespace evo::cli
