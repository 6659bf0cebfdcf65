#include "engine/edits/edit_sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "engine/base/text.h"
#include "engine/edits/statements.h"
#include "engine/edits/variables.h"
#include "engine/source/source_mutation.h"

namespace evo {
namespace {

/// Statements are moved and swapped over at most so many others.
constexpr std::size_t kFarthest = 6;
constexpr std::size_t kLongestShown = 60;
constexpr int kLargestConstant = 1 << 20;

/// A text in one line, shortened.
std::string shown(std::string_view text) {
  std::string line;
  for (const char c : trim(text)) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!blank)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  if (line.size() <= kLongestShown) return line;
  line.resize(kLongestShown - 3);
  while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0x80) != 0) line.pop_back();
  return line + "...";
}

bool holds_word(const std::string& code, TextRange range, std::string_view word) {
  return std::ranges::any_of(words_of(code, range), [&](const Word& one) { return one.text == word; });
}

/// "\n" around a statement that begins with a pragma, which has a line of its own.
std::string moved_text(std::string_view text) {
  const std::string line_end = text.starts_with('#') ? "\n" : " ";
  return line_end + std::string(text) + line_end;
}

class SiteFinder {
 public:
  SiteFinder(std::string_view file, std::string_view text)
      : file_(file),
        text_(text),
        structure_(structure_of(text)),
        code_(structure_.code),
        synchronisation_(dropped_synchronisation(code_)) {}

  EditSites find() {
    for (const FunctionText& function : structure_.functions) {
      variables_ = variables_of(code_, function);
      conditions_.clear();
      note_conditions(function.body);
      visit(function.body, nullptr);
    }
    return std::move(sites_);
  }

 private:
  std::string_view text_of(TextRange range) const { return range.of(text_); }

  int line_of(std::size_t place) const {
    return 1 + static_cast<int>(std::ranges::count(text_.substr(0, place), '\n'));
  }

  void offer(EditOperator op, std::size_t place, std::string what, std::vector<TextChange> changes) {
    sites_[static_cast<std::size_t>(op)].push_back(
        {op, std::string(file_), std::move(changes), line_of(place), std::move(what)});
  }

  /// Whether the statement may be taken as a whole.
  bool is_unit(const Statement& one) const {
    if (structure_.has_directive(one.range)) return false;
    for (const std::string_view word : {"__shared__", "extern", "using", "typedef", "static_assert"})
      if (text_of(one.range).starts_with(word)) return false;
    return true;
  }

  bool is_barrier(const Statement& one) const {
    return one.kind == Statement::Kind::simple &&
           std::ranges::any_of(synchronisation_,
                               [&](const SourceMutation& drop) { return one.range.holds(drop.offset); });
  }

  void note_conditions(const Block& block) {
    for (const Statement& one : block.statements) {
      if (one.kind == Statement::Kind::branch) conditions_.push_back(one.head);
      for (const Block& part : one.blocks) note_conditions(part);
    }
  }

  void visit(const Block& block, const Statement* around) {
    for (std::size_t i = 0; i < block.statements.size(); ++i) {
      const Statement& one = block.statements[i];
      if (is_unit(one)) {
        of_statement(one, block);
        if (block.braced) places_in_block(block, i);
        if (is_barrier(one) && around != nullptr) out_of_loop(one, *around);
      }
      if (one.kind == Statement::Kind::loop) of_loop(block, i);
      if (one.kind == Statement::Kind::branch) of_condition(one);
      if (one.kind == Statement::Kind::simple) of_words(one.range);
      if (one.kind != Statement::Kind::simple) of_words(one.head);
      for (const Block& part : one.blocks) visit(part, one.kind == Statement::Kind::loop ? &one : around);
    }
  }

  void of_statement(const Statement& one, const Block& block) {
    const std::string text(text_of(one.range)), word = shown(text);
    if (is_barrier(one)) {
      for (const SourceMutation& drop : synchronisation_)
        if (one.range.holds(drop.offset))
          offer(EditOperator::remove_barrier, one.range.begin, fmt::format("{}: {}", drop.operation, word),
                {{drop.offset, drop.length, drop.replacement}});
      return;
    }
    if (word == ";") return;
    offer(EditOperator::remove, one.range.begin, "statement deleted: " + word,
          {{one.range.begin, one.range.size(), ";"}});
    if (block.braced)
      offer(EditOperator::duplicate, one.range.begin, "statement done twice: " + word,
            {{one.range.end, 0, moved_text(text)}});
  }

  /// Other places of a statement among those of its block.
  void places_in_block(const Block& block, std::size_t i) {
    const Statement& one = block.statements[i];
    const std::string text(text_of(one.range));
    const EditOperator op = is_barrier(one) ? EditOperator::move_barrier : EditOperator::move;
    const std::size_t last = std::min(block.statements.size() - 1, i + kFarthest);
    for (std::size_t j = i > kFarthest ? i - kFarthest : 0; j <= last; ++j) {
      const Statement& other = block.statements[j];
      const TextRange between{std::min(one.range.begin, other.range.begin), std::max(one.range.end, other.range.end)};
      if (i == j || structure_.has_directive(between)) continue;
      const bool back = j < i;
      offer(op, one.range.begin,
            fmt::format("statement moved {} line {}: {}", back ? "ahead of" : "behind", line_of(other.range.begin),
                        shown(text)),
            {{one.range.begin, one.range.size(), ";"},
             {back ? other.range.begin : other.range.end, 0, moved_text(text)}});
      if (j <= i + 1 || !is_unit(other)) continue;  // Neighbours are swapped by moving one.
      offer(EditOperator::swap, one.range.begin,
            fmt::format("statement changes places with that of line {}: {}", line_of(other.range.begin), shown(text)),
            {{one.range.begin, one.range.size(), moved_text(text_of(other.range))},
             {other.range.begin, other.range.size(), moved_text(text)}});
    }
  }

  void out_of_loop(const Statement& one, const Statement& loop) {
    if (structure_.has_directive(loop.range)) return;
    const std::string text(text_of(one.range));
    for (const bool ahead : {true, false})
      offer(
          EditOperator::move_barrier, one.range.begin,
          fmt::format("barrier moved {} the loop of line {}: {}", ahead ? "ahead of" : "behind",
                      line_of(loop.keyword.begin), shown(text)),
          {{one.range.begin, one.range.size(), ";"}, {ahead ? loop.range.begin : loop.range.end, 0, moved_text(text)}});
  }

  // ---- Conditions

  void of_condition(const Statement& one) {
    if (text_of(one.keyword) != "if" || structure_.has_directive(one.head)) return;
    const std::string own(trim(text_of(one.head)));
    const auto becomes = [&](const std::string& other) {
      if (other != own)
        offer(EditOperator::condition, one.head.begin, fmt::format("condition {} becomes {}", shown(own), shown(other)),
              {{one.head.begin, one.head.size(), other}});
    };
    becomes("true");
    becomes("false");
    for (const std::string_view link : {"&&", "||"}) {
      const std::vector<std::string_view> parts = split_outside_brackets(text_of(one.head), link);
      if (parts.size() < 2) continue;
      for (std::size_t left_out = 0; left_out < parts.size(); ++left_out) {
        std::string rest;
        for (std::size_t i = 0; i < parts.size(); ++i)
          if (i != left_out) rest += (rest.empty() ? "" : fmt::format(" {} ", link)) + std::string(parts[i]);
        becomes(rest);
      }
    }
    const auto place = std::ranges::find(conditions_, one.head);
    if (place != conditions_.begin()) becomes(std::string(trim(text_of(*std::prev(place)))));
    if (place != conditions_.end() && std::next(place) != conditions_.end())
      becomes(std::string(trim(text_of(*std::next(place)))));
  }

  // ---- Variables and numbers

  void of_words(TextRange range) {
    if (structure_.has_directive(range) || holds_word(code_, range, "asm")) return;
    for (const Word& word : words_of(code_, range)) {
      if (std::isdigit(static_cast<unsigned char>(word.text.front())) != 0)
        of_number(word);
      else
        of_name(word);
    }
    what_is_set(range);
  }

  void of_number(const Word& word) {
    const auto becomes = [&](const std::string& other) {
      if (other != word.text)
        offer(EditOperator::constant, word.range.begin,
              fmt::format("constant {} becomes {} in {}", word.text, other, shown(line_at(word.range.begin))),
              {{word.range.begin, word.range.size(), other}});
    };
    if (const auto whole = number_in<int>(word.text); whole && *whole <= kLargestConstant) {
      for (const int other : {*whole / 2, *whole * 2, *whole + 1, *whole - 1, 0})
        if (other >= 0) becomes(fmt::format("{}", other));
    } else if (word.text.find('.') != std::string_view::npos) {
      for (const char* factor : {"/ 2", "* 2"}) becomes(fmt::format("({} {})", word.text, factor));
      becomes("0.0f");
    }
  }

  std::string_view line_at(std::size_t place) const {
    const std::size_t begin = text_.rfind('\n', place) + 1;  // npos + 1 is the beginning.
    return text_.substr(begin, text_.find('\n', place) - begin);
  }

  void of_name(const Word& word) {
    const Variable* own = variable_at(variables_, word.text, word.range.begin);
    if (own == nullptr || own->declared == word.range.begin || is_member(word.range.begin)) return;
    for (const std::string& other : alike(*own, word.range.begin))
      offer(EditOperator::operand, word.range.begin,
            fmt::format("{} becomes {} in {}", own->name, other, shown(line_at(word.range.begin))),
            {{word.range.begin, word.range.size(), other}});
  }

  bool is_member(std::size_t place) const {
    const std::size_t before = place == 0 ? std::string::npos : code_.find_last_not_of(" \t\n", place - 1);
    return before != std::string::npos && (code_[before] == '.' || code_[before] == '>' || code_[before] == ':');
  }

  /// Other variables of its type that have a value at a place.
  std::vector<std::string> alike(const Variable& own, std::size_t place) const {
    std::vector<std::string> names;
    for (const Variable& other : variables_) {
      const bool visible = other.declared < place && variable_at(variables_, other.name, place) == &other;
      if (visible && other.type == own.type && other.name != own.name &&
          std::ranges::find(names, other.name) == names.end())
        names.push_back(other.name);
    }
    return names;
  }

  /// `float a = EXPRESSION;` and `a = EXPRESSION;` become a copy of another variable.
  void what_is_set(TextRange range) {
    const std::string_view statement = range.of(code_);
    const std::size_t equal = statement.find('=');
    if (!statement.ends_with(';') || equal == std::string_view::npos || equal == 0 || equal + 1 == statement.size())
      return;
    if (statement[equal + 1] == '=' || std::string_view("=!<>+-*/%&|^").find(statement[equal - 1]) != statement.npos)
      return;
    const std::size_t end = statement.find_last_not_of(" \t\n", equal - 1) + 1;
    std::size_t begin = end;
    while (begin > 0 && is_identifier_character(statement[begin - 1])) --begin;
    const TextRange value{range.begin + equal + 1, range.end - 1};
    const Variable* own = variable_at(variables_, statement.substr(begin, end - begin), range.begin + begin);
    const bool simple = trim(value.of(code_)).find_first_of(" ([.+-*/") == std::string_view::npos;
    if (own == nullptr || simple || is_member(range.begin + begin)) return;
    for (const std::string& other : alike(*own, range.begin))
      offer(EditOperator::operand, range.begin,
            fmt::format("{} becomes a copy of {}: {}", own->name, other, shown(text_of(range))),
            {{value.begin, value.size(), " " + other}});
  }

  // ---- Loops

  void of_loop(const Block& block, std::size_t i) {
    const Statement& loop = block.statements[i];
    if (text_of(loop.keyword) != "for" || structure_.has_directive({loop.range.begin, loop.head.end})) return;
    unroll(loop);
    const Block& body = loop.blocks.front();
    if (i + 1 < block.statements.size()) fuse(loop, block.statements[i + 1]);
    if (!body.braced) return;
    const std::string head(text_of({loop.keyword.begin, loop.head.end + 1}));
    for (std::size_t k = 1; k < body.statements.size(); ++k) {
      const std::size_t place = body.statements[k].range.begin;
      if (structure_.has_directive({body.range.begin, body.range.end})) break;
      offer(EditOperator::split, loop.keyword.begin,
            fmt::format("loop split ahead of line {}: {}", line_of(place), shown(head)),
            {{place, 0, fmt::format("}} {} {{ ", head)}});
    }
  }

  void unroll(const Statement& loop) {
    const std::string head = shown(text_of({loop.keyword.begin, loop.head.end + 1}));
    const bool has_pragma = text_[loop.range.begin] == '#';
    if (!has_pragma && loop.keyword.begin != loop.range.begin) return;  // A macro, which has a gene.
    const TextRange pragma{loop.range.begin, has_pragma ? text_.find('\n', loop.range.begin) : loop.range.begin};
    if (text_of(pragma).find("${") != std::string_view::npos) return;
    for (const std::string factor : {"", "1", "2", "4", "8"}) {
      const std::string wanted = factor.empty() ? "unroll" : "unroll " + factor;
      if (has_pragma && trim(text_of(pragma)) == "#pragma " + wanted) continue;
      const std::string text = has_pragma ? "#pragma " + wanted : fmt::format("_Pragma(\"{}\") ", wanted);
      offer(EditOperator::unroll, loop.keyword.begin,
            fmt::format("loop {}: {}",
                        factor == "1"    ? "not unrolled"
                        : factor.empty() ? "unrolled as a whole"
                                         : "unrolled by " + factor,
                        head),
            {{pragma.begin, pragma.size(), text}});
    }
  }

  /// The body of the next loop goes to the end of this one's.
  void fuse(const Statement& loop, const Statement& next) {
    const bool alike = next.kind == Statement::Kind::loop && text_of(next.keyword) == "for" &&
                       shown(text_of(loop.head)) == shown(text_of(next.head));
    if (!alike || structure_.has_directive({loop.range.begin, next.range.end})) return;
    offer(EditOperator::fuse, loop.keyword.begin,
          fmt::format("loop fused with that of line {}: {}", line_of(next.keyword.begin), shown(text_of(loop.head))),
          {{loop.head.end + 1, 0, " {"},
           {next.range.begin, next.head.end + 1 - next.range.begin, ""},
           {next.range.end, 0, " }"}});
  }

  const std::string_view file_, text_;
  const SourceStructure structure_;
  const std::string& code_;
  const std::vector<SourceMutation> synchronisation_;
  std::vector<Variable> variables_;    // of the function
  std::vector<TextRange> conditions_;  // likewise
  EditSites sites_;
};

}  // namespace

EditSites edit_sites(std::string_view file, std::string_view text) {
  return SiteFinder(file, text).find();
}

}  // namespace evo
