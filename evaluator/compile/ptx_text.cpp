#include "evaluator/compile/ptx_text.h"

#include <algorithm>
#include <cctype>
#include <regex>

namespace evo::ptx_text {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

/// Where a comment or string that begins at `at` ends; `at` itself where none begins.
std::size_t end_of_remark(std::string_view ptx, std::size_t at) {
  const auto behind = [&](std::string_view closing, std::size_t from) {
    const std::size_t found = ptx.find(closing, from);
    return found == std::string_view::npos ? ptx.size() : found + closing.size();
  };
  if (ptx.substr(at).starts_with("//")) return behind("\n", at);
  if (ptx.substr(at).starts_with("/*")) return behind("*/", at + 2);
  if (ptx[at] == '"') return behind("\"", at + 1);
  return at;
}

/// Whether a brace behind this opens a block; others enclose vectors and initial values.
bool opens_block(std::string_view head) {
  return head.empty() || head.ends_with(":") || head.find(".entry") != std::string_view::npos ||
         head.find(".func") != std::string_view::npos || head.find(".section") != std::string_view::npos;
}

/// The name in ".visible .entry NAME(...)", and empty for what is no head of a kernel.
std::string_view kernel_of(std::string_view head) {
  constexpr std::string_view kEntry = ".entry";
  const std::size_t at = head.find(kEntry);
  if (at == std::string_view::npos) return {};
  head = trimmed(head.substr(at + kEntry.size()));
  return head.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(head, is_name_character) - head.begin()));
}

}  // namespace

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
}

bool is_blank(char c) {
  return kBlanks.find(c) != std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::string without_remarks(std::string_view ptx) {
  std::string text(ptx);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t end = end_of_remark(ptx, at);
    if (end == at) continue;
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    at = end - 1;
  }
  return text;
}

std::vector<std::string_view> statements(std::string_view text) {
  std::vector<std::string_view> found;
  std::size_t begin = 0;
  int depth = 0;  // of braces within the statement
  const auto end_at = [&](std::size_t at) {
    if (const auto statement = trimmed(text.substr(begin, at - begin)); !statement.empty()) found.push_back(statement);
    begin = at + 1;
    depth = 0;
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == ';') {
      end_at(at);
    } else if (text[at] == '{') {
      if (depth == 0 && opens_block(trimmed(text.substr(begin, at - begin))))
        end_at(at);
      else
        ++depth;
    } else if (text[at] == '}') {
      if (depth == 0)
        end_at(at);
      else
        --depth;
    }
  }
  end_at(text.size());
  return found;
}

std::string_view instruction_of(std::string_view statement) {
  static const std::regex kAhead(
      R"((\s*[\w$%]+\s*:(?!:)|\s*\.loc(\s+\d+){3}(\s*,\s*function_name\s+[\w$]+(\s*\+\s*\d+)?)?)"
      R"((\s*,\s*inlined_at(\s+\d+){3})?(?=\s)|\s*@!?[\w$%]+(?=\s))*\s*)");
  std::cmatch ahead;
  std::regex_search(statement.data(), statement.data() + statement.size(), ahead, kAhead,
                    std::regex_constants::match_continuous);
  return statement.substr(static_cast<std::size_t>(ahead.length()));
}

std::vector<std::string> kernels(std::string_view ptx) {
  constexpr std::string_view kEntry = ".entry";
  std::vector<std::string> found;
  for (std::size_t at = ptx.find(kEntry); at != std::string_view::npos; at = ptx.find(kEntry, at + 1)) {
    // Only linking directives stand ahead of it in its line: neither a comment nor a string.
    const std::size_t line = ptx.rfind('\n', at) + 1;
    const std::string_view ahead = trimmed(ptx.substr(line, at - line));
    if (!ahead.empty() && ahead != ".visible" && ahead != ".weak") continue;
    if (const std::string_view name = kernel_of(ptx.substr(at)); !name.empty()) found.emplace_back(name);
  }
  return found;
}

std::set<std::string> waiting_kernels(std::string_view ptx) {
  const std::string text = without_remarks(ptx);
  std::set<std::string> waiting, calling;
  std::string kernel;  // empty within a function
  for (const std::string_view statement : statements(text)) {
    const auto is = [&](std::string_view opcode) {
      return statement.find(opcode) != std::string_view::npos && instruction_of(statement).starts_with(opcode);
    };
    const bool head =
        statement.find(".entry") != std::string_view::npos || statement.find(".func") != std::string_view::npos;
    if (head) kernel = kernel_of(statement);
    if (is("griddepcontrol.wait")) waiting.insert(kernel);
    if (is("call")) calling.insert(kernel);
  }
  const bool function_waits = waiting.erase("") > 0;
  if (function_waits) waiting.merge(calling);
  waiting.erase("");
  return waiting;
}

}  // namespace evo::ptx_text
