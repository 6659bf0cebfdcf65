#include "engine/source/line_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "engine/base/text.h"

namespace evo {
namespace {

/// How the compiler calls a rendered source.
constexpr std::string_view kRendered = "kernel.cu";
constexpr std::string_view kLine = "line ";

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/';
}

/// The decimal number that a text begins with, and its digits.
struct Leading {
  std::size_t number = 0;
  std::size_t digits = 0;
};
Leading leading_number(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0) ++digits;
  return {number_in<std::size_t>(text.substr(0, digits)).value_or(0), digits};
}

/// The file of "FILE(12): error: ..."; empty for other lines.
std::string_view complaining_file(std::string_view line) {
  for (std::size_t at = line.find('('); at != std::string_view::npos; at = line.find('(', at + 1)) {
    const std::size_t digits = leading_number(line.substr(at + 1)).digits;
    if (digits > 0 && line.substr(at + 1 + digits).starts_with("): ") && at > 0 && line[0] != ' ')
      return line.substr(0, at);
  }
  return {};
}

/// A place in the rendered text: how many characters name it, and its line.
struct Mention {
  std::size_t size = 0;
  std::size_t line = 0;
  std::size_t last = 0;  ///< Of "lines 3 to 7"; 0: one line.
};

/// "lines 3 to 7"
std::optional<Mention> range_at(std::string_view text) {
  constexpr std::string_view kLines = "lines ", kTo = " to ";
  if (!text.starts_with(kLines)) return std::nullopt;
  const auto [first, digits] = leading_number(text.substr(kLines.size()));
  const std::string_view behind = text.substr(kLines.size() + digits);
  if (digits == 0 || !behind.starts_with(kTo)) return std::nullopt;
  const auto [last, last_digits] = leading_number(behind.substr(kTo.size()));
  if (last_digits == 0) return std::nullopt;
  return Mention{kLines.size() + digits + kTo.size() + last_digits, first, last};
}

/// "kernel.cu(12)", "line 12 of kernel.cu" and, unless the compiler is speaking of a header, "line 12".
std::optional<Mention> mention_at(std::string_view message, std::size_t at, bool of_header) {
  if (at > 0 && is_word(message[at - 1])) return std::nullopt;
  const std::string_view rest = message.substr(at);
  if (rest.starts_with(kRendered) && rest.substr(kRendered.size()).starts_with('(')) {
    const auto [line, digits] = leading_number(rest.substr(kRendered.size() + 1));
    const bool closed = digits > 0 && rest.substr(kRendered.size() + 1 + digits).starts_with(')');
    return closed ? std::optional(Mention{kRendered.size() + digits + 2, line, 0}) : std::nullopt;
  }
  if (const auto range = range_at(rest)) return range;
  if (!rest.starts_with(kLine) || message.substr(0, at).ends_with("PTX ")) return std::nullopt;
  const auto [line, digits] = leading_number(rest.substr(kLine.size()));
  if (digits == 0) return std::nullopt;
  const std::size_t size = kLine.size() + digits;
  const std::string whose = fmt::format(" of {}", kRendered);
  if (rest.substr(size).starts_with(whose)) return Mention{size + whose.size(), line, 0};
  if (of_header || rest.substr(size).starts_with(" of ")) return std::nullopt;
  return Mention{size, line, 0};
}

}  // namespace

void LineMap::add(std::size_t rendered, std::string_view file, std::size_t line) {
  if (!runs_.empty()) {
    const Run& last = runs_.back();
    if (files_[last.file] == file && line >= last.line && line - last.line == rendered - last.rendered) return;
  }
  auto known = std::ranges::find(files_, file);
  if (known == files_.end()) known = files_.insert(files_.end(), std::string(file));
  runs_.push_back({rendered, static_cast<std::size_t>(known - files_.begin()), line});
}

std::optional<LineMap::Origin> LineMap::origin_of(std::size_t rendered) const {
  const auto after = std::ranges::upper_bound(runs_, rendered, {}, &Run::rendered);
  if (rendered == 0 || after == runs_.begin()) return std::nullopt;
  const Run& run = *std::prev(after);
  return Origin{files_[run.file], run.line + (rendered - run.rendered)};
}

std::string LineMap::translated_line(std::string_view line, bool of_header) const {
  std::string text;
  for (std::size_t at = 0; at < line.size();) {
    const auto mention = mention_at(line, at, of_header);
    const auto origin = mention ? origin_of(mention->line) : std::nullopt;
    if (origin) {
      text += fmt::format("{}:{}", origin->file, origin->line);
      if (const auto last = mention->last > 0 ? origin_of(mention->last) : std::nullopt)
        text += last->file == origin->file ? fmt::format(" to {}", last->line)
                                           : fmt::format(" to {}:{}", last->file, last->line);
      at += mention->size;
    } else {
      text += line[at++];
    }
  }
  return text;
}

std::string LineMap::translated(std::string_view message) const {
  if (empty()) return std::string(message);
  std::string text;
  bool of_header = false;
  while (!message.empty()) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    const std::string_view line = message.substr(0, end);
    if (const auto file = complaining_file(line); !file.empty()) of_header = file != kRendered;
    // ptxas counts the lines of the PTX.
    text += line.starts_with("ptxas") ? std::string(line) : translated_line(line, of_header);
    if (end < message.size()) text += '\n';
    message.remove_prefix(std::min(end + 1, message.size()));
  }
  return text;
}

}  // namespace evo
