#include "engine/base/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/error.h"

namespace evo {
namespace {

/// Reads records one after another.
class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  /// Empty at the end of the text.
  std::optional<Csv::Row> next() {
    while (at_ < text_.size()) {
      Csv::Row row{line_, {}};
      const std::size_t begin = at_;
      bool more = true;
      while (more) more = cell(row.cells.emplace_back());
      if (text_.substr(begin, at_ - begin).find_first_not_of(" \t\r\n") != std::string_view::npos) return row;
    }
    return std::nullopt;
  }

 private:
  /// Whether another cell of the record follows.
  bool cell(std::string& cell) {
    const std::size_t first_line = line_;
    bool quoted = false;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        const bool doubled = quoted && text_.substr(at_ + 1).starts_with('"');
        if (doubled)
          cell += text_[at_++];
        else
          quoted = !quoted;
      } else if (!quoted && c == ',') {
        ++at_;
        return true;
      } else if (!quoted && c == '\n') {
        ++at_;
        ++line_;
        return false;
      } else if (quoted || c != '\r') {
        line_ += c == '\n';
        cell += c;
      }
    }
    if (quoted) throw usage_error(fmt::format("{}: line {}: a quotation mark is never closed", file_, first_line));
    return false;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

}  // namespace

std::optional<std::size_t> Csv::column(std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

Csv read_csv(std::string_view text, const std::string& file) {
  Reader reader(text, file);
  Csv csv;
  if (auto heading = reader.next()) csv.names = std::move(heading->cells);
  while (auto row = reader.next()) {
    if (row->cells.size() != csv.names.size())
      throw usage_error(
          fmt::format("{}: line {}: {} cells, not {}", file, row->line, row->cells.size(), csv.names.size()));
    csv.rows.push_back(std::move(*row));
  }
  return csv;
}

}  // namespace evo
