#include "engine/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace evo {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Levenshtein's distance, one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string upper(std::string_view text) {
  std::string capitals(text);
  for (char& c : capitals)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return capitals;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> split_outside_brackets(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  char quote = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[') {
      ++depth;
    } else if (c == ')' || c == ']') {
      --depth;
    } else if (depth == 0 && text.substr(i).starts_with(separator)) {
      parts.push_back(trim(text.substr(begin, i - begin)));
      i += separator.size() - 1;
      begin = i + 1;
    }
  }
  parts.push_back(trim(text.substr(begin)));
  return parts;
}

std::string list_of(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string suggestion(std::string_view wrong, const std::vector<std::string>& names) {
  // Two swapped letters are two edits.
  const std::size_t close = wrong.size() < 4 ? 1 : std::max<std::size_t>(2, wrong.size() / 3);
  const std::string* best = nullptr;
  std::size_t best_distance = close + 1;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(wrong, name);
    if (distance < best_distance) {
      best = &name;
      best_distance = distance;
    }
  }
  return best ? fmt::format("; did you mean '{}'?", *best) : fmt::format("; there are {}", list_of(names));
}

namespace {

/// Where the template arguments end that begin at the front; npos where they do not end or hold odd characters.
std::size_t end_of_template_arguments(std::string_view text) {
  constexpr std::string_view kAllowed = " <>():,_*&|^~+-/%=!?.";
  int angles = 0, brackets = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!is_letter(c) && !is_digit(c) && kAllowed.find(c) == std::string_view::npos) return std::string_view::npos;
    if (c == '(') ++brackets;
    if (c == ')') --brackets;
    if (brackets > 0) continue;
    if (c == '<') ++angles;
    if (c == '>' && --angles == 0) return i + 1;
  }
  return std::string_view::npos;
}

}  // namespace

bool is_kernel_name(std::string_view text) {
  while (true) {
    const std::size_t end = std::min(text.find_first_of("<:"), text.size());
    if (!is_identifier(text.substr(0, end))) return false;
    text.remove_prefix(end);
    if (text.starts_with('<')) {
      const std::size_t behind = end_of_template_arguments(text);
      if (behind == std::string_view::npos) return false;
      text.remove_prefix(behind);
    }
    if (text.empty()) return true;
    if (!text.starts_with("::")) return false;
    text.remove_prefix(2);
  }
}

bool is_identifier(std::string_view text) {
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), is_identifier_character);
}

bool is_identifier_character(char c) {
  return is_letter(c) || is_digit(c);
}

}  // namespace evo
