#include "engine/source/template_syntax.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/source/preprocessor_lines.h"

namespace evo::template_syntax {
namespace {

constexpr int kMaxBlockDepth = 64;

/// Parts between commas that stand in no brackets and no quotes.
class Parser {
 public:
  Parser(const std::string& file, std::string_view source) : file_(&file), rest_(source) {}

  File parse() {
    File file;
    file.block = statements(0);
    if (pending_) fail(place(), fmt::format("'{}' without an open block", pending_->word));
    file.takes = std::move(takes_);
    return file;
  }

 private:
  Place place() const { return {file_, line_}; }

  bool next_line(std::string_view& line) {
    if (rest_.empty()) return false;
    const auto end = rest_.find('\n');
    line = rest_.substr(0, end == std::string_view::npos ? end : end + 1);
    rest_.remove_prefix(line.size());
    ++line_;
    return true;
  }

  // Statements up to elif, else or end, which is left in `pending_`, or up to the end of the file.
  Block statements(int depth) {
    if (depth > kMaxBlockDepth) fail(place(), fmt::format("blocks nested deeper than {}", kMaxBlockDepth));
    Block block;
    pending_.reset();
    std::string_view line;
    while (next_line(line)) {
      if (line.ends_with('\n')) line.remove_suffix(1);
      const auto directive = directive_of(line);
      if (!directive) {
        block.push_back(plain(line));
      } else if (directive->word == "elif" || directive->word == "else" || directive->word == "end") {
        pending_ = directive;
        return block;
      } else if (directive->word == "takes") {
        takes(*directive);
      } else if (!directive->word.starts_with('#')) {
        directives_ = true;
        block.push_back(statement(*directive, depth));
      }
    }
    return block;
  }

  Statement plain(std::string_view line) {
    const std::string path = quoted_include(line);
    if (path.empty()) return {place(), text(line)};
    return {place(), Quoted{path, text(line)}};
  }

  Statement statement(const Directive& directive, int depth) {
    const Place here = place();
    const std::string_view word = directive.word;
    if (word == "if") return {here, if_block(directive, depth)};
    if (word == "for") return {here, for_block(directive, depth)};
    if (word == "probe") return {here, probe_block(directive, depth)};
    if (word == "let") return {here, let(directive)};
    if (word == "include") return {here, include(directive)};
    if (word == "slot") return {here, slot(directive)};
    fail(here,
         fmt::format("unknown directive '{}'; there are if, elif, else, for, let, include, slot, takes, probe, end",
                     word));
  }

  Expression expression(std::string_view text) const {
    if (text.empty()) fail(place(), "expression expected");
    try {
      return Expression::parse(text);
    } catch (const Error& error) {
      fail(place(), error.what());
    }
  }

  void nothing_after(const Directive& directive) const {
    if (!directive.rest.empty())
      fail(place(), fmt::format("unexpected '{}' after '{}'", directive.rest, directive.word));
  }

  void expect_end(const Place& opened, std::string_view word) {
    if (!pending_) fail(opened, fmt::format("'{}' without 'end'", word));
    if (pending_->word != "end")
      fail(place(), fmt::format("'{}' where 'end' of '{}' is expected", pending_->word, word));
    nothing_after(*pending_);
    pending_.reset();
  }

  If if_block(const Directive& directive, int depth) {
    const Place opened = place();
    If result;
    Expression condition = expression(directive.rest);
    bool last = false;
    while (true) {
      Block body = statements(depth + 1);
      result.branches.emplace_back(std::move(condition), std::move(body));
      if (last || !pending_ || pending_->word == "end") break;
      last = pending_->word == "else";
      if (last) nothing_after(*pending_);
      condition = last ? Expression() : expression(pending_->rest);
    }
    expect_end(opened, "if");
    return result;
  }

  For for_block(const Directive& directive, int depth) {
    const Place opened = place();
    const auto space = directive.rest.find_first_of(" \t");
    const std::string_view after = space == std::string_view::npos ? "" : trim(directive.rest.substr(space));
    const auto dots = after.find("..");
    if (!after.starts_with("in ") || dots == std::string_view::npos) fail(opened, "expected 'for NAME in FIRST..END'");
    For result;
    result.variable = name(directive.rest.substr(0, space));
    result.from = expression(trim(after.substr(3, dots - 3)));
    result.to = expression(trim(after.substr(dots + 2)));
    result.body = statements(depth + 1);
    expect_end(opened, "for");
    return result;
  }

  Probe probe_block(const Directive& directive, int depth) {
    const Place opened = place();
    nothing_after(directive);
    Probe result{statements(depth + 1)};
    expect_end(opened, "probe");
    return result;
  }

  Let let(const Directive& directive) const {
    Let let{arguments(directive.rest)};
    for (const Argument& definition : let.definitions)
      if (!definition.value) fail(place(), "expected 'let NAME = EXPRESSION, ...'");
    return let;
  }

  Include include(const Directive& directive) const {
    const std::string path(quoted_path(directive.rest));
    if (path.empty()) fail(place(), "expected 'include \"PATH\"' or 'include \"PATH\" with NAME = EXPRESSION, ...'");
    for (const std::string& part : split(path, '/')) {
      if (part.empty() || part == "." || part == ".." || part.find('\\') != std::string::npos) {
        fail(place(), fmt::format("include \"{}\": a path inside the templates folder is expected", path));
      }
    }
    return {path, passed(directive, directive.rest.substr(path.size() + 2))};
  }

  Slot slot(const Directive& directive) const {
    const std::string_view gene = directive.rest.substr(0, directive.rest.find_first_of(" \t"));
    return {name(gene), passed(directive, directive.rest.substr(gene.size()))};
  }

  /// The arguments behind `with`.
  std::vector<Argument> passed(const Directive& directive, std::string_view rest) const {
    rest = trim(rest);
    if (rest.empty()) return {};
    if (!rest.starts_with("with "))
      fail(place(),
           fmt::format("unexpected '{}' after '{}': 'with NAME = EXPRESSION, ...' may follow", rest, directive.word));
    return arguments(rest.substr(5));
  }

  std::vector<Argument> arguments(std::string_view list) const {
    std::vector<Argument> result;
    for (const std::string_view part : split_outside_brackets(list, ",")) {
      const auto equals = part.find('=');
      Argument argument{name(trim(part.substr(0, equals))), std::nullopt};
      if (equals != std::string_view::npos) argument.value = expression(trim(part.substr(equals + 1)));
      for (const Argument& other : result)
        if (other.name == argument.name) fail(place(), fmt::format("'{}' is there twice", argument.name));
      result.push_back(std::move(argument));
    }
    return result;
  }

  void takes(const Directive& directive) {
    if (takes_) fail(place(), "a file has one 'takes'");
    if (directives_) fail(place(), "'takes' stands ahead of all other directives of a file");
    takes_ = Takes{place(), arguments(directive.rest)};
  }

  std::string name(std::string_view text) const {
    if (!is_identifier(text) || expr::is_reserved(text)) fail(place(), fmt::format("'{}' is not a name", text));
    return std::string(text);
  }

  Text text(std::string_view line) const {
    if (line.ends_with('\r')) line.remove_suffix(1);
    try {
      return {TextTemplate::parse(line)};
    } catch (const Error& error) {
      fail(place(), error.what());
    }
  }

  const std::string* file_;
  std::string_view rest_;
  std::size_t line_ = 0;
  std::optional<Directive> pending_;
  std::optional<Takes> takes_;
  bool directives_ = false;  // whether there was one that is no `takes`
};

}  // namespace

void fail(const Place& place, const std::string& reason) {
  throw usage_error(fmt::format("{}:{}: {}", *place.file, place.line, reason));
}

std::optional<Directive> directive_of(std::string_view line) {
  std::string_view text = trim(line);
  if (!text.starts_with("//%")) return std::nullopt;
  text = trim(text.substr(3));
  const auto end = text.find_first_of(" \t");
  if (end == std::string_view::npos) return Directive{text, {}};
  return Directive{text.substr(0, end), trim(text.substr(end))};
}

std::string_view quoted_path(std::string_view rest) {
  if (!rest.starts_with('"')) return {};
  const auto close = rest.find('"', 1);
  return close == std::string_view::npos ? std::string_view() : rest.substr(1, close - 1);
}

File parse_file(const std::string& path, std::string_view source) {
  return Parser(path, source).parse();
}

}  // namespace evo::template_syntax
