#include "engine/edits/statements.h"

#include <algorithm>
#include <array>
#include <optional>
#include <regex>

#include "engine/base/brackets.h"
#include "engine/base/stretches.h"
#include "engine/base/text.h"
#include "engine/source/source_mutation.h"

namespace evo {
namespace {

constexpr std::size_t kDeepest = 64;  ///< Statements within each other.

/// The source with '$' in the place of template holes, whose braces and quotes are none of C++.
std::string without_holes(std::string_view source) {
  std::string text(source);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t end = i;
    if (text.compare(i, 2, "${") == 0) {
      bool quoted = false;
      for (end = i + 2; end < text.size() && text[end] != '\n' && (quoted || text[end] != '}'); ++end)
        if (text[end] == '\'') quoted = !quoted;
      if (end == text.size() || text[end] != '}') continue;
    } else if (text[i] == '@') {
      for (end = i + 1; end < text.size() && is_identifier_character(text[end]);) ++end;
      if (end == i + 1 || end == text.size() || text[end] != '@') continue;
    } else {
      continue;
    }
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(i), text.begin() + static_cast<std::ptrdiff_t>(end + 1), '$');
    i = end;
  }
  return text;
}

bool is_unroll(std::string_view line) {
  if (!line.starts_with('#')) return false;
  line = trim(line.substr(1));
  if (!line.starts_with("pragma")) return false;
  line = trim(line.substr(6));
  return line.starts_with("unroll") || line.starts_with("nounroll");
}

/// Where lines of directives begin, but those of unroll pragmas, which belong to the loop behind them.
std::vector<std::size_t> directives_in(std::string_view source) {
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at < source.size();) {
    const std::size_t end = std::min(source.find('\n', at), source.size());
    const std::string_view line = trim(source.substr(at, end - at));
    if (line.starts_with("//%") || (line.starts_with('#') && !is_unroll(line))) places.push_back(at);
    at = end + 1;
  }
  return places;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// A source cut into functions and these into statements, by recursive descent. A place behind the text's end: it is
/// not understood.
class Cutter {
 public:
  Cutter(std::string_view source, const std::string& code) : source_(source), code_(code) {}

  std::vector<FunctionText> functions() {
    std::vector<FunctionText> found;
    std::size_t head = 0;
    for (std::size_t at = 0; at < code_.size(); ++at) {
      const char c = code_[at];
      if (c == ';' || c == '}') head = at + 1;
      if (c != '{') continue;
      const std::optional<TextRange> parameters = parameters_of({head, at});
      head = at + 1;
      if (!parameters) continue;
      if (std::optional<Block> body = block(at, 0)) {
        at = body->range.end;
        found.push_back({*parameters, std::move(*body)});
      } else {
        at = std::min(closing(at), code_.size() - 1);
      }
      head = at + 1;
    }
    return found;
  }

 private:
  /// The parameters of a function whose body follows this text; empty: something else follows.
  std::optional<TextRange> parameters_of(TextRange head) const {
    static const std::regex kOther(R"((^|[\s>])(struct|class|union|enum|namespace)\s)");
    const std::string text = without_long_stretches(std::string(head.of(code_)));
    if (trim(text).ends_with('=') || std::regex_search(text, kOther)) return std::nullopt;
    const std::size_t close = code_.rfind(')', head.end);
    if (close == std::string::npos || close < head.begin) return std::nullopt;
    int depth = 0;
    for (std::size_t at = close + 1; at-- > head.begin;) {
      if (code_[at] == ')') ++depth;
      if (code_[at] == '(' && --depth == 0) return TextRange{at + 1, close};
    }
    return std::nullopt;
  }

  /// Where the bracket that opens at `open` is closed; else the end.
  std::size_t closing(std::size_t open) const { return std::min(closing_bracket(code_, open), code_.size()); }

  std::size_t after_blanks(std::size_t at) const {
    while (at < code_.size() && is_blank(code_[at])) ++at;
    return at;
  }

  std::string_view word_at(std::size_t at) const {
    std::size_t end = at;
    while (end < code_.size() && is_identifier_character(code_[end])) ++end;
    return std::string_view(code_).substr(at, end - at);
  }

  std::optional<Block> block(std::size_t open, std::size_t depth) {
    Block block{.range = {open + 1, open + 1}, .statements = {}};
    std::size_t at = after_blanks(open + 1);
    while (at < code_.size() && code_[at] != '}') {
      std::optional<Statement> next = statement(at, depth + 1);
      if (!next) return std::nullopt;
      at = after_blanks(next->range.end);
      block.statements.push_back(std::move(*next));
    }
    if (at >= code_.size()) return std::nullopt;
    block.range.end = at;
    return block;
  }

  std::optional<Statement> statement(std::size_t at, std::size_t depth) {
    if (depth > kDeepest) return std::nullopt;
    if (code_[at] == '{') {
      std::optional<Block> one = block(at, depth);
      if (!one) return std::nullopt;
      Statement statement{.kind = Statement::Kind::block, .range = {at, one->range.end + 1}, .blocks = {}};
      statement.blocks.push_back(std::move(*one));
      return statement;
    }
    std::string_view word = word_at(at);
    if (word == "case" || word == "default" || word == "else") return std::nullopt;
    std::size_t keyword = at;
    if (!word.empty() && word != "if" && word != "for" && word != "while" && word != "do" && word != "switch") {
      // A macro may stand ahead of a loop.
      const std::size_t next = after_blanks(at + word.size());
      const std::string_view second = word_at(next);
      if (second == "for" || second == "while") keyword = next, word = second;
    }
    if (word == "for" || word == "while" || word == "if") return controlled(at, keyword, word, depth);
    if (word == "do") return repeated(at, depth);
    if (word == "switch") return switched(at);
    return simple(at);
  }

  std::optional<Statement> simple(std::size_t at) const {
    int depth = 0;
    for (std::size_t end = at; end < code_.size(); ++end) {
      const char c = code_[end];
      if (c == '(' || c == '[' || c == '{') ++depth;
      if ((c == ')' || c == ']' || c == '}') && --depth < 0) return std::nullopt;
      if (c == ';' && depth == 0) return Statement{.range = {at, end + 1}, .blocks = {}};
    }
    return std::nullopt;
  }

  std::optional<Statement> switched(std::size_t at) const {
    const std::size_t open = code_.find('{', at);
    if (open == std::string::npos) return std::nullopt;
    const std::size_t close = closing(open);
    if (close == code_.size()) return std::nullopt;
    return Statement{.kind = Statement::Kind::other, .range = {at, close + 1}, .blocks = {}};
  }

  /// What a loop or branch controls: a block, or one statement.
  std::optional<Block> controlled_part(std::size_t at, std::size_t depth) {
    at = after_blanks(at);
    if (at >= code_.size()) return std::nullopt;
    if (code_[at] == '{') return block(at, depth);
    std::optional<Statement> one = statement(at, depth + 1);
    if (!one) return std::nullopt;
    Block part{.range = one->range, .braced = false, .statements = {}};
    part.statements.push_back(std::move(*one));
    return part;
  }

  static std::size_t end_of(const Block& part) { return part.range.end + (part.braced ? 1 : 0); }

  std::optional<Statement> controlled(std::size_t at, std::size_t keyword, std::string_view word, std::size_t depth) {
    Statement made{.kind = word == "if" ? Statement::Kind::branch : Statement::Kind::loop,
                   .range = {at, at},
                   .keyword = {keyword, keyword + word.size()},
                   .blocks = {}};
    std::size_t open = after_blanks(made.keyword.end);
    if (word_at(open) == "constexpr") {
      made.keyword.end = open + word_at(open).size();
      open = after_blanks(made.keyword.end);
    }
    if (open >= code_.size() || code_[open] != '(') return std::nullopt;
    const std::size_t close = closing(open);
    if (close >= code_.size()) return std::nullopt;
    made.head = {open + 1, close};
    std::optional<Block> part = controlled_part(close + 1, depth);
    if (!part) return std::nullopt;
    made.range.end = end_of(*part);
    made.blocks.push_back(std::move(*part));
    const std::size_t next = after_blanks(made.range.end);
    if (word == "if" && next < code_.size() && word_at(next) == "else") {
      std::optional<Block> other = controlled_part(next + 4, depth);
      if (!other) return std::nullopt;
      made.range.end = end_of(*other);
      made.blocks.push_back(std::move(*other));
    }
    if (made.kind == Statement::Kind::loop) made.range.begin = with_pragma(at);
    return made;
  }

  std::optional<Statement> repeated(std::size_t at, std::size_t depth) {
    Statement made{
        .kind = Statement::Kind::loop, .range = {with_pragma(at), at}, .keyword = {at, at + 2}, .blocks = {}};
    std::optional<Block> part = controlled_part(at + 2, depth);
    if (!part) return std::nullopt;
    const std::size_t end = code_.find(';', end_of(*part));
    if (end == std::string::npos || word_at(after_blanks(end_of(*part))) != "while") return std::nullopt;
    made.range.end = end + 1;
    made.blocks.push_back(std::move(*part));
    return made;
  }

  /// Where the `#pragma unroll` of the line ahead of a loop begins; the loop's own place where there is none.
  std::size_t with_pragma(std::size_t at) const {
    const std::size_t line = source_.rfind('\n', at);
    if (line == std::string_view::npos || !trim(source_.substr(line + 1, at - line - 1)).empty()) return at;
    const std::size_t before = line == 0 ? std::string_view::npos : source_.rfind('\n', line - 1);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::size_t first = source_.find_first_not_of(" \t", begin);
    return first < line && is_unroll(trim(source_.substr(first, line - first))) ? first : at;
  }

  const std::string_view source_;
  const std::string& code_;
};

}  // namespace

bool SourceStructure::has_directive(TextRange range) const {
  const auto next = std::ranges::lower_bound(directives, range.begin);
  return next != directives.end() && *next < range.end;
}

SourceStructure structure_of(std::string_view source) {
  SourceStructure structure;
  structure.directives = directives_in(source);
  structure.code = code_only(without_holes(source));
  structure.functions = Cutter(source, structure.code).functions();
  return structure;
}

}  // namespace evo
