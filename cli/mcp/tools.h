#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace evo::cli {

/// What all tools of a server share: an agent chooses neither files nor more time than these.
struct ToolSettings {
  std::string database;
  std::string templates;         ///< Empty: the usual ones.
  std::string device;            ///< Where a call names none; empty: auto.
  std::string most_time = "1h";  ///< Of one search.
};

/// A call of a tool as a command of this program.
struct ToolCommand {
  std::vector<std::string> arguments;  ///< "run", "--task=fp8_sdpa", ...
  std::string proposals;               ///< Text that `--proposals` is to name; empty: none.
  bool json = true;                    ///< Whether it prints a JSON document, else text.
};

/// The tools that `tools/list` names, each with the JSON Schema of its arguments, always in the same order.
nlohmann::ordered_json tool_list();

bool has_tool(const std::string& name);

/// Throws usage_error, which an agent can act on, for arguments that the tool does not take.
ToolCommand tool_command(const std::string& name, const nlohmann::ordered_json& arguments,
                         const ToolSettings& settings);

}  // namespace evo::cli
