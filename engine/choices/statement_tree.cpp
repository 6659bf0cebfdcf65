#include "engine/choices/statement_tree.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>

#include "engine/base/text.h"

namespace evo {
namespace {

using Kind = KernelStatement::Kind;

/// Statements within each other: what is deeper is read by no recursion.
constexpr int kMostWithin = 100;

/// The longest first.
constexpr std::array<std::string_view, 24> kOperators = {
    "<<=", ">>=", "...", "->", "::", "++", "--", "+=", "-=", "*=", "/=", "%=",
    "&=",  "|=",  "^=",  "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "##"};

const std::set<std::string_view>& words_of_types() {
  static const std::set<std::string_view> kWords = {"const", "constexpr", "volatile", "unsigned", "signed",
                                                    "long",  "short",     "int",      "float",    "double",
                                                    "char",  "bool",      "auto"};
  return kWords;
}

std::size_t end_of_number(std::string_view code, std::size_t at) {
  while (at < code.size() && (is_identifier_character(code[at]) || code[at] == '.' ||
                              ((code[at] == '+' || code[at] == '-') &&
                               std::string_view("eEpP").find(code[at - 1]) != std::string_view::npos)))
    ++at;
  return at;
}

std::size_t end_of_token(std::string_view code, std::size_t at) {
  const bool digit = std::isdigit(static_cast<unsigned char>(code[at])) != 0;
  const bool fraction =
      code[at] == '.' && at + 1 < code.size() && std::isdigit(static_cast<unsigned char>(code[at + 1])) != 0;
  if (digit || fraction) return end_of_number(code, at + 1);
  if (is_identifier_character(code[at])) {
    while (at < code.size() && is_identifier_character(code[at])) ++at;
    return at;
  }
  const auto known =
      std::ranges::find_if(kOperators, [&](std::string_view one) { return code.substr(at).starts_with(one); });
  return at + (known == kOperators.end() ? 1 : known->size());
}

class StatementReader {
 public:
  StatementReader(const std::vector<CodeToken>& tokens, TokenRange range, int depth)
      : tokens_(tokens), at_(range.first), end_(range.last), depth_(depth) {}

  std::vector<KernelStatement> all() {
    for (std::size_t at = at_; at < end_; ++at)
      if (text(at) == "[" && !is_identifier(text(at - 1)) && text(at - 1) != "]" && text(at - 1) != ")")
        throw NotUnderstood("a lambda");
    std::vector<KernelStatement> statements;
    while (at_ < end_) statements.push_back(one());
    return statements;
  }

 private:
  std::string_view text(std::size_t at) const { return at < end_ ? tokens_[at].text : std::string_view(); }
  bool is(std::string_view word) const { return text(at_) == word; }
  void take(std::string_view word) {
    if (!is(word)) throw NotUnderstood("no " + std::string(word));
    ++at_;
  }

  KernelStatement one() {
    if (++depth_ > kMostWithin) throw NotUnderstood("statements within each other");
    static const std::set<std::string_view> kForeign = {"asm",   "__asm__", "struct",   "class",    "union", "enum",
                                                        "using", "typedef", "static",   "extern",   "try",   "goto",
                                                        "case",  "default", "template", "typename", "#"};
    if (kForeign.contains(text(at_))) throw NotUnderstood(std::string(text(at_)));
    KernelStatement statement;
    statement.range.first = at_;
    while (text(at_).starts_with("evo_unroll_")) statement.prefix += std::string(text(at_++)) + " ";
    if (is("{"))
      block(statement);
    else if (is("for"))
      loop(statement);
    else if (is("if"))
      choice(statement);
    else if (is("while") || is("do") || is("switch"))
      whole(statement);
    else if (is("return") || is("break") || is("continue"))
      statement.kind = Kind::leave, up_to_semicolon();
    else if (!declaration(statement))
      up_to_semicolon();
    statement.range.last = at_;
    --depth_;
    return statement;
  }

  void up_to_semicolon() {
    while (!is(";")) {
      if (at_ >= end_ || is("{")) throw NotUnderstood("a statement has no end");
      at_ = is("(") || is("[") ? closing_token(tokens_, at_) + 1 : at_ + 1;
    }
    ++at_;
  }

  void block(KernelStatement& statement) {
    statement.kind = Kind::block;
    const std::size_t close = closing_token(tokens_, at_);
    statement.parts = StatementReader(tokens_, {at_ + 1, close}, depth_).all();
    at_ = close + 1;
  }

  void head(KernelStatement& statement) {
    if (!is("(")) throw NotUnderstood("no ( behind a word");
    const std::size_t close = closing_token(tokens_, at_);
    statement.head = {at_ + 1, close};
    at_ = close + 1;
  }

  void loop(KernelStatement& statement) {
    statement.kind = Kind::loop;
    ++at_;
    head(statement);
    statement.parts.push_back(one());
  }

  void choice(KernelStatement& statement) {
    statement.kind = Kind::choice;
    ++at_;
    head(statement);
    statement.parts.push_back(one());
    if (!is("else")) return;
    ++at_;
    statement.parts.push_back(one());
  }

  void whole(KernelStatement& statement) {
    statement.kind = Kind::whole;
    const bool condition_last = is("do");
    ++at_;
    if (!condition_last) head(statement);
    statement.parts.push_back(one());
    if (!condition_last) return;
    take("while");
    head(statement);
    take(";");
  }

  /// Behind a type, whose end is returned; empty: none begins here.
  std::optional<std::size_t> end_of_type() const {
    std::size_t at = at_;
    bool named = false;
    while (words_of_types().contains(text(at))) {
      named = named || (text(at) != "const" && text(at) != "constexpr" && text(at) != "volatile");
      ++at;
    }
    if (named) return at;
    if (!is_identifier(text(at))) return std::nullopt;
    for (++at; text(at) == "::" && is_identifier(text(at + 1));) at += 2;
    if (text(at) == "<") {
      int depth = 0;
      for (; at < end_; ++at) {
        if (text(at) == "<") ++depth;
        if (text(at) == ">" && --depth == 0) break;
        if (text(at) == ";" || text(at) == "{") return std::nullopt;
      }
      ++at;
    }
    while (text(at) == "const") ++at;
    return at;
  }

  bool declaration(KernelStatement& statement) {
    const std::optional<std::size_t> type = end_of_type();
    if (!type) return false;
    std::size_t name = *type;
    while (text(name) == "*" || text(name) == "const") ++name;
    if (text(name) == "&" && is_identifier(text(name + 1)) && text(name + 2) == "=") throw NotUnderstood("a reference");
    static const std::set<std::string_view> kBehind = {"=", ";", ",", "[", "(", "{"};
    if (!is_identifier(text(name)) || !kBehind.contains(text(name + 1))) return false;
    statement.kind = Kind::declaration;
    statement.type = {at_, *type};
    at_ = *type;
    do {
      statement.declarators.push_back(declarator());
    } while (text(at_ - 1) == ",");
    return true;
  }

  /// Up to and with the comma or semicolon behind it.
  Declarator declarator() {
    Declarator one;
    one.range.first = at_;
    for (; is("*") || is("const") || is("evo_restrict"); ++at_) one.pointers += is("*") ? 1 : 0;
    if (!is_identifier(text(at_))) throw NotUnderstood("a variable without a name");
    one.name = text(at_++);
    one.extents.first = at_;
    while (is("[")) at_ = closing_token(tokens_, at_) + 1;
    one.extents.last = at_;
    if (is("(") || is("{")) {
      one.opened_by = text(at_).front();
      const std::size_t close = closing_token(tokens_, at_);
      one.initial = {at_ + 1, close};
      at_ = close + 1;
    } else if (is("=")) {
      one.opened_by = '=';
      one.initial.first = ++at_;
      while (!is(",") && !is(";")) {
        if (at_ >= end_) throw NotUnderstood("a declaration has no end");
        at_ = is("(") || is("[") || is("{") ? closing_token(tokens_, at_) + 1 : at_ + 1;
      }
      one.initial.last = at_;
    }
    one.range.last = at_;
    if (!is(",") && !is(";")) throw NotUnderstood("a declaration");
    ++at_;
    return one;
  }

  const std::vector<CodeToken>& tokens_;
  std::size_t at_;
  const std::size_t end_;
  int depth_;
};

}  // namespace

std::vector<CodeToken> code_tokens(std::string_view code) {
  std::vector<CodeToken> tokens;
  for (std::size_t at = 0; at < code.size();) {
    if (std::isspace(static_cast<unsigned char>(code[at])) != 0) {
      ++at;
      continue;
    }
    const std::size_t end = end_of_token(code, at);
    tokens.push_back({at, code.substr(at, end - at)});
    at = end;
  }
  return tokens;
}

std::size_t closing_token(const std::vector<CodeToken>& tokens, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < tokens.size(); ++at) {
    const std::string_view text = tokens[at].text;
    if (text == "(" || text == "[" || text == "{") ++depth;
    if ((text == ")" || text == "]" || text == "}") && --depth == 0) return at;
  }
  throw NotUnderstood("a bracket is not closed");
}

std::vector<KernelStatement> kernel_statements(const std::vector<CodeToken>& tokens, TokenRange range) {
  return StatementReader(tokens, range, 0).all();
}

}  // namespace evo
