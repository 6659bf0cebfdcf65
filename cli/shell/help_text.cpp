#include "cli/shell/help_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "engine/base/text.h"

namespace evo::cli {
namespace {

struct CommandHelp {
  std::string_view name;
  std::string_view group;
  std::string_view example;  ///< Lines.
};

/// Groups stand in the order of their first commands.
constexpr CommandHelp kCommands[] = {
    {"run", "Search", "evo run --task fp8_sdpa --time 5m\nevo run --task softmax --device vgpu --evals 20"},
    {"tune", "Search", "evo tune saxpy.json --device vgpu"},
    {"llm", "Search", "evo llm --dry-run --task fp8_sdpa"},
    {"mcp", "Search", "evo mcp"},
    {"tasks", "Search", "evo tasks"},
    {"space", "Search", "evo space --task fp8_sdpa"},
    {"elites", "Look", "evo elites --task softmax"},
    {"show", "Look", "evo show 17"},
    {"note", "Look", "evo note 17 'spills registers with 8 warps'"},
    {"lineage", "Look", "evo lineage 17"},
    {"diff", "Look", "evo diff 17 23"},
    {"runs", "Look", "evo runs"},
    {"report", "Look", "evo report -o report.html"},
    {"watch", "Look", "evo watch --task fp8_sdpa"},
    {"front", "Look", "evo front --task fp8_sdpa"},
    {"results", "Look", "evo results -o results"},
    {"export", "Take away", "evo export -o best.cu\nevo export --format torch -o evo_softmax"},
    {"import", "Take away", "evo import problem.py"},
    {"check", "Judge", "evo check softmax"},
    {"verify", "Judge", "evo verify 17\nevo verify best.cu"},
    {"attack", "Judge", "evo attack 17"},
    {"compare", "Judge", "evo compare 17 23"},
    {"baseline", "Judge", "evo baseline 17"},
    {"selftest", "Judge", "evo selftest --task softmax --device vgpu"},
    {"sanitize", "Judge", "evo sanitize 17"},
    {"diagnose", "Judge", "evo diagnose 17"},
    {"profile", "Judge", "evo profile 17"},
    {"model", "Tools", "evo model 17 --explain"},
    {"vgpu", "Tools",
     "evo vgpu saxpy.cu --grid 4 --block 256 --arg y=float[1024]:ones --arg x=float[1024]:iota --arg float:0.5"},
    {"replay", "Tools", "evo replay results.json --strategy evolve,random --evals 50"},
    {"bench", "Tools", "evo bench"},
    {"db", "Tools", "evo db check"},
    {"doctor", "Tools", "evo doctor"},
    {"completions", "Tools", "source <(evo completions bash)"},
    {"man", "Tools", "evo man run | man -l -"},
};

const CommandHelp* help_of(std::string_view command) {
  const auto* const found = std::ranges::find(kCommands, command, &CommandHelp::name);
  return found == std::end(kCommands) ? nullptr : found;
}

/// Where the text of a line begins, behind the names that stand ahead of it: "  --seed S    The seed".
std::size_t text_column(std::string_view line) {
  const std::size_t first = line.find_first_not_of(' ');
  const std::size_t gap = line.find("  ", first);
  const std::size_t text = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  return first > 0 && text != std::string_view::npos ? text : first;
}

std::string wrapped_line(std::string_view line, std::size_t columns) {
  if (line.size() <= columns || line.find_first_not_of(' ') == std::string_view::npos) return std::string(line);
  const std::size_t column = text_column(line);
  // Names that leave no room have their text below them.
  const std::size_t indent = column + columns / 4 <= columns ? column : std::size_t{4};
  std::string text(line.substr(0, column));
  std::size_t width = column;
  bool begins = true;
  for (const std::string& word : split(line.substr(column), ' ')) {
    if (!begins && width + 1 + word.size() > columns) {
      text += "\n" + std::string(indent, ' ');
      width = indent;
    } else if (!begins) {
      text += ' ';
      ++width;
    }
    text += word;
    width += word.size();
    begins = false;
  }
  return text;
}

}  // namespace

std::string command_group(std::string_view command) {
  const CommandHelp* const found = help_of(command);
  return std::string(found ? found->group : "Tools");
}

std::string command_example(std::string_view command) {
  const CommandHelp* const found = help_of(command);
  return std::string(found ? found->example : "");
}

std::string wrapped_help(std::string_view help, std::size_t columns) {
  std::vector<std::string> lines;
  for (const std::string& line : split(help, '\n')) lines.push_back(wrapped_line(line, columns));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace evo::cli
