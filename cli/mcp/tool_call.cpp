#include "cli/mcp/tool_call.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/mcp/tool_process.h"
#include "cli/text/files.h"
#include "cli/text/json_text.h"
#include "cli/text/terminal.h"
#include "engine/base/error.h"
#include "engine/base/text.h"

namespace evo::cli {
namespace {

/// A file of this user alone, as long as this exists.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
    std::string name = (folder / "evo_proposals_XXXXXX").string();
    const int file = error ? -1 : ::mkstemp(name.data());
    if (file < 0) throw machine_error(fmt::format("cannot make a file in {}", error ? "$TMPDIR" : folder.string()));
    ::close(file);
    path_ = name;
    write_file(path_, text);
  }
  ~TemporaryFile() {
    std::error_code error;
    std::filesystem::remove(path_, error);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// The counts of a line of progress, "12/50 evaluated, ..." or "12 evaluated, ...".
std::optional<std::pair<double, double>> counts_in(const std::string& line) {
  const std::size_t end = line.find(" evaluated");
  if (end == std::string::npos) return std::nullopt;
  const std::vector<std::string> parts = split(line.substr(0, end), '/');
  const auto done = number_in<double>(parts[0]);
  const auto all = parts.size() == 2 ? number_in<double>(parts[1]) : std::optional(0.0);
  if (!done || !all || parts.size() > 2) return std::nullopt;
  return std::pair(*done, *all);
}

Json text_result(const std::string& text) {
  Json content = Json::array();
  content.push_back({{"type", "text"}, {"text", text}});
  return {{"content", content}, {"isError", false}};
}

Json result_of(const ToolOutput& output, bool json) {
  if (output.too_long) return tool_error("it printed more than can be sent");
  std::string why = output.last_error.empty() ? "it printed nothing" : output.last_error;
  if (why.starts_with("evo: ")) why.erase(0, 5);
  if (output.out.empty()) return tool_error(why);
  if (!json) return text_result(output.out);
  Json document = Json::parse(output.out, nullptr, false);
  if (!document.is_object()) return tool_error(why);
  Json result = text_result(document.dump());
  result["structuredContent"] = std::move(document);
  return result;
}

}  // namespace

Json tool_error(const std::string& message) {
  Json result = text_result(one_line(message));
  result["isError"] = true;
  return result;
}

Json call_tool(const std::string& name, const Json& arguments, const ToolSettings& settings, ProgressTold progress,
               const std::function<bool()>& cancelled) {
  try {
    ToolCommand command = tool_command(name, arguments, settings);
    std::optional<TemporaryFile> proposals;
    if (!command.proposals.empty()) {
      proposals.emplace(command.proposals);
      command.arguments.push_back("--proposals=" + proposals->path());
    }
    const auto told = [&](const std::string& line) {
      if (const auto counts = counts_in(line); counts && progress)
        progress(counts->first, counts->second, one_line(line));
    };
    return result_of(run_tool(command.arguments, told, cancelled), command.json);
  } catch (const Error& error) {
    return tool_error(error.what());
  }
}

}  // namespace evo::cli
