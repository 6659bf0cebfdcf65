#include "engine/source/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/expression/expression_node.h"
#include "engine/source/preprocessor_lines.h"

namespace evo {
namespace {

constexpr std::size_t kMaxIncludeDepth = 16;
constexpr int kMaxBlockDepth = 64;
constexpr std::int64_t kMaxIterations = 100'000;  // of all loops of one rendering together
constexpr std::int64_t kMaxSteps = 10'000'000;    // statements, and nodes of the expressions that they evaluate
constexpr std::size_t kMaxOutput = 4 << 20;       // characters

struct Place {
  const std::string* file = nullptr;
  std::size_t line = 0;
};

[[noreturn]] void fail(const Place& place, const std::string& reason) {
  throw usage_error(fmt::format("{}:{}: {}", *place.file, place.line, reason));
}

// Runs something that throws errors without a place, and adds the place.
template <typename Action>
auto at(const Place& place, Action action) {
  try {
    return action();
  } catch (const Error& error) {
    fail(place, error.what());
  }
}

struct Statement;
using Block = std::vector<Statement>;

struct Text {
  TextTemplate line;  // without its end
};
struct If {
  std::vector<std::pair<Expression, Block>> branches;  // else: the condition `true`
};
struct For {
  std::string variable;
  Expression from;
  Expression to;
  Block body;
};
/// Lines of a diagnosis: absent otherwise.
struct Probe {
  Block body;
};
struct Let {
  std::string name;
  Expression value;
};
struct Include {
  std::string path;
};
struct Slot {
  std::string gene;
};
/// #include "PATH" of CUDA's own.
struct Quoted {
  std::string path;
  Text line;
};

struct Statement {
  Place place;
  std::variant<Text, If, For, Probe, Let, Include, Slot, Quoted> what;
};

// --- parsing

/// A directive line: its first word and what follows.
struct Directive {
  std::string_view word;
  std::string_view rest;
};

std::optional<Directive> directive_of(std::string_view line) {
  std::string_view text = trim(line);
  if (!text.starts_with("//%")) return std::nullopt;
  text = trim(text.substr(3));
  const auto end = text.find_first_of(" \t");
  if (end == std::string_view::npos) return Directive{text, {}};
  return Directive{text.substr(0, end), trim(text.substr(end))};
}

class Parser {
 public:
  Parser(const std::string& file, std::string_view source) : file_(&file), rest_(source) {}

  Block parse() {
    Block block = statements(0);
    if (pending_) fail(place(), fmt::format("'{}' without an open block", pending_->word));
    return block;
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
      } else if (!directive->word.starts_with('#')) {
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
         fmt::format("unknown directive '{}'; there are if, elif, else, for, let, include, slot, probe, end", word));
  }

  Expression expression(std::string_view text) const {
    if (text.empty()) fail(place(), "expression expected");
    return at(place(), [&] { return Expression::parse(text); });
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
    const auto equals = directive.rest.find('=');
    if (equals == std::string_view::npos) fail(place(), "expected 'let NAME = EXPRESSION'");
    return {name(trim(directive.rest.substr(0, equals))), expression(trim(directive.rest.substr(equals + 1)))};
  }

  Include include(const Directive& directive) const {
    const std::string_view quoted = directive.rest;
    if (quoted.size() < 3 || quoted.front() != '"' || quoted.back() != '"')
      fail(place(), "expected 'include \"PATH\"'");
    const std::string path(quoted.substr(1, quoted.size() - 2));
    for (const std::string& part : split(path, '/')) {
      if (part.empty() || part == "." || part == ".." || part.find('\\') != std::string::npos) {
        fail(place(), fmt::format("include \"{}\": a path inside the templates folder is expected", path));
      }
    }
    return {path};
  }

  Slot slot(const Directive& directive) const { return {name(directive.rest)}; }

  std::string name(std::string_view text) const {
    if (!is_identifier(text) || expr::is_reserved(text)) fail(place(), fmt::format("'{}' is not a name", text));
    return std::string(text);
  }

  Text text(std::string_view line) const {
    if (line.ends_with('\r')) line.remove_suffix(1);
    return at(place(), [&] { return Text{TextTemplate::parse(line)}; });
  }

  const std::string* file_;
  std::string_view rest_;
  std::size_t line_ = 0;
  std::optional<Directive> pending_;
};

// A '}' inside quotes does not end the expression.
std::size_t closing_brace(std::string_view text) {
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote ? c == quote : c == '\'' || c == '"') {
      quote = quote ? 0 : c;
    } else if (!quote && c == '}') {
      return i;
    }
  }
  throw usage_error("'${' without '}'");
}

// --- rendering

std::string folder_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : std::string(path.substr(0, slash + 1));
}

/// Next to the file that includes it, else in the templates folder.
SourceTree::const_iterator find_included(const SourceTree& tree, std::string_view file, const std::string& path) {
  const auto beside = tree.find(folder_of(file) + path);
  return beside == tree.end() ? tree.find(path) : beside;
}

/// Of CUDA's own #include; elsewhere the compiler looks.
SourceTree::const_iterator find_quoted(const SourceTree& tree, std::string_view file, const std::string& path) {
  return find_included(tree, "", path_beside(file, path));
}

class Renderer {
 public:
  Renderer(const SourceTree& tree, std::string_view root, const Bindings& bindings)
      : tree_(tree), root_folder_(folder_of(root)), bindings_(bindings) {}

  Rendered render(std::string_view path) {
    const auto found = tree_.find(path);
    if (found == tree_.end()) throw usage_error(fmt::format("{}: no such template", path));
    open_ = {found->first};
    file(found->first, found->second);
    return {std::move(output_), std::move(lines_)};
  }

 private:
  // Names made by `let` and `for` end with their block.
  class Scope {
   public:
    explicit Scope(Renderer& renderer) : renderer_(renderer), size_(renderer.locals_.size()) {}
    ~Scope() {
      while (renderer_.locals_.size() > size_) {
        renderer_.bindings_.erase(renderer_.locals_.back());
        renderer_.locals_.pop_back();
      }
    }

   private:
    Renderer& renderer_;
    std::size_t size_;
  };

  void define(const Place& place, const std::string& name, Value value) {
    if (!bindings_.emplace(name, std::move(value)).second) fail(place, fmt::format("'{}' is already defined", name));
    locals_.push_back(name);
  }

  void file(const std::string& path, const std::string& source) {
    auto parsed = parsed_.find(path);
    if (parsed == parsed_.end()) parsed = parsed_.emplace(path, Parser(path, source).parse()).first;
    const Scope scope(*this);
    statements(parsed->second);
  }

  void block(const Block& block) {
    const Scope scope(*this);
    statements(block);
  }

  void statements(const Block& block) {
    for (const Statement& statement : block) {
      spend(statement.place, 1);
      std::visit([&](const auto& what) { execute(statement.place, what); }, statement.what);
    }
  }

  void spend(const Place& place, std::int64_t steps) {
    steps_ += steps;
    if (steps_ > kMaxSteps) fail(place, fmt::format("more than {} steps", kMaxSteps));
  }

  Value evaluated(const Place& place, const Expression& expression) {
    spend(place, expression.root().size);
    return at(place, [&] { return expression.evaluate(bindings_); });
  }

  bool holds(const Place& place, const Expression& condition) {
    spend(place, condition.root().size);
    return at(place, [&] { return condition.evaluate_bool(bindings_); });
  }

  std::int64_t number(const Place& place, const Expression& expression) {
    spend(place, expression.root().size);
    return at(place, [&] { return expression.evaluate_int(bindings_); });
  }

  void execute(const Place& place, const Text& text) {
    std::string line;
    for (const auto& piece : text.line.pieces()) {
      const auto* literal = std::get_if<std::string>(&piece);
      line += literal ? *literal : expr::to_string(evaluated(place, std::get<Expression>(piece)));
    }
    count_conditionals(line);
    write(place, is_included_once(line) ? "" : line);
  }

  // How many #ifs are open.
  void count_conditionals(std::string_view line) {
    line = trim(line);
    if (!line.starts_with('#')) return;
    line = trim(line.substr(1));
    if (line.starts_with("if")) ++conditionals_;
    if (line.starts_with("endif") && conditionals_ > 0) --conditionals_;
  }

  void write(const Place& place, std::string_view line) {
    const std::size_t begin = output_.size();
    output_ += line;
    output_ += '\n';
    lines_.add(++line_, *place.file, place.line);
    // A string with line ends makes several lines of one.
    line_ += static_cast<std::size_t>(
                 std::count(output_.begin() + static_cast<std::ptrdiff_t>(begin), output_.end(), '\n')) -
             1;
    if (output_.size() > kMaxOutput) fail(place, fmt::format("more than {} characters of output", kMaxOutput));
  }

  void execute(const Place& place, const If& statement) {
    for (const auto& [condition, body] : statement.branches) {
      if (holds(place, condition)) return block(body);
    }
  }

  void execute(const Place& place, const For& loop) {
    const std::int64_t from = number(place, loop.from);
    const std::int64_t to = number(place, loop.to);
    for (std::int64_t i = from; i < to; ++i) {
      if (++iterations_ > kMaxIterations) fail(place, fmt::format("more than {} loop iterations", kMaxIterations));
      const Scope scope(*this);
      define(place, loop.variable, i);
      statements(loop.body);
    }
  }

  void execute(const Place&, const Probe& probe) {
    if (bindings_.contains(kProbing)) block(probe.body);
  }

  void execute(const Place& place, const Let& let) { define(place, let.name, evaluated(place, let.value)); }

  void execute(const Place& place, const Include& include) {
    const auto found = find_included(tree_, *place.file, include.path);
    if (found == tree_.end()) {
      fail(place, fmt::format("no file \"{0}\" next to this one or in the templates folder", include.path));
    }
    nested(place, found->first, found->second);
  }

  /// The text of the file in the place of the line, as the preprocessor would read it: one text is compiled.
  void execute(const Place& place, const Quoted& include) {
    const auto found = find_quoted(tree_, *place.file, include.path);
    if (found == tree_.end()) return execute(place, include.line);
    const std::string& path = found->first;
    // A file includes itself only behind a guard, which then leaves nothing of it.
    if (once_.contains(path) || std::ranges::find(open_, path) != open_.end()) return write(place, "");
    // Under an #if it is not known here whether the file is read.
    const bool guarded = is_included_once(found->second) && (conditionals_ > 0 || guarded_.contains(path));
    if (guarded) {
      guarded_.insert(path);
      write(place, "#ifndef " + guard_of(path));
      write(place, "#define " + guard_of(path));
    }
    nested(place, path, found->second);
    if (guarded) write(place, "#endif");
  }

  static std::string guard_of(const std::string& path) {
    std::string name = "EVO_ONCE_" + path;
    for (char& c : name)
      if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    return name;
  }

  void execute(const Place& place, const Slot& slot) {
    const auto allele = bindings_.find(slot.gene);
    if (allele == bindings_.end()) fail(place, fmt::format("slot '{}': no gene of this name", slot.gene));
    const auto* stem = std::get_if<std::string>(&allele->second);
    if (!stem || !is_file_stem(*stem)) fail(place, fmt::format("slot '{}': its value is not a file's name", slot.gene));
    const auto found = tree_.find(root_folder_ + slot.gene + "/" + *stem + ".cu");
    if (found == tree_.end()) {
      fail(place, fmt::format("slot '{0}': no file {1}{0}/{2}.cu", slot.gene, root_folder_, *stem));
    }
    nested(place, found->first, found->second);
  }

  static bool is_file_stem(const std::string& stem) {
    return !stem.empty() && stem != ".." && stem.find_first_of("/\\") == std::string::npos;
  }

  void nested(const Place& place, const std::string& path, const std::string& source) {
    open_.push_back(path);
    if (open_.size() > kMaxIncludeDepth + 1) {
      fail(place, fmt::format("includes nested deeper than {}: does {} include itself?", kMaxIncludeDepth, path));
    }
    if (conditionals_ == 0 && is_included_once(source)) once_.insert(path);
    file(path, source);
    open_.pop_back();
  }

  const SourceTree& tree_;
  std::string root_folder_;
  Bindings bindings_;
  std::vector<std::string> locals_;
  std::string output_;
  std::size_t line_ = 0;  // of the output, the last one
  LineMap lines_;
  std::vector<std::string> open_;  // the file that is rendered, and those that include each other, the innermost last
  std::set<std::string> once_;     // files that say #pragma once, and were read under no #if
  std::set<std::string> guarded_;  // files that say #pragma once, and were read under an #if
  int conditionals_ = 0;           // of the output, open #ifs
  std::int64_t iterations_ = 0;
  std::int64_t steps_ = 0;
  std::map<std::string, Block> parsed_;  // files, by path
};

}  // namespace

std::string included_file(const SourceTree& tree, std::string_view file, std::string_view line) {
  if (const std::string quoted = quoted_include(line); !quoted.empty()) {
    const auto found = find_quoted(tree, file, quoted);
    return found == tree.end() ? std::string() : found->first;
  }
  const std::optional<Directive> directive = directive_of(line);
  if (!directive || directive->word != "include") return {};
  const auto open = directive->rest.find('"'), close = directive->rest.rfind('"');
  if (open == close) return {};
  const std::string path(directive->rest.substr(open + 1, close - open - 1));
  const auto found = find_included(tree, file, path);
  return found == tree.end() ? std::string() : found->first;
}

std::set<std::string> files_included_by(const SourceTree& tree, const std::string& file) {
  std::set<std::string> files;
  std::vector<std::string> waiting = {file};
  while (!waiting.empty()) {
    const auto next = tree.find(waiting.back());
    waiting.pop_back();
    if (next == tree.end() || !files.insert(next->first).second) continue;
    for (const std::string& line : split(next->second, '\n')) waiting.push_back(included_file(tree, next->first, line));
  }
  return files;
}

std::string without_probes(std::string_view source) {
  std::string rest;
  int open = 0;  // blocks within a probe, itself included
  for (std::string_view left = source; !left.empty();) {
    const std::string_view line = left.substr(0, left.find('\n') == left.npos ? left.npos : left.find('\n') + 1);
    left.remove_prefix(line.size());
    const auto directive = directive_of(line.substr(0, line.find_last_not_of("\r\n") + 1));
    const std::string_view word = directive ? directive->word : std::string_view();
    if (word == "probe" || (open > 0 && (word == "if" || word == "for"))) ++open;
    if (open == 0) rest += line;
    if (open > 0 && word == "end") --open;
  }
  return rest;
}

std::string render_template(const SourceTree& tree, std::string_view path, const Bindings& bindings) {
  return render_with_lines(tree, path, bindings).text;
}

Rendered render_with_lines(const SourceTree& tree, std::string_view path, const Bindings& bindings) {
  return Renderer(tree, path, bindings).render(path);
}

TextTemplate TextTemplate::parse(std::string_view line) {
  TextTemplate result;
  while (true) {
    const auto open = line.find("${");
    if (open == std::string_view::npos) break;
    if (open > 0) result.pieces_.emplace_back(std::string(line.substr(0, open)));
    line.remove_prefix(open + 2);
    const auto close = closing_brace(line);
    const std::string_view inside = trim(line.substr(0, close));
    if (inside.empty()) throw usage_error("expression expected");
    result.pieces_.emplace_back(Expression::parse(inside));
    line.remove_prefix(close + 1);
  }
  if (!line.empty() || result.pieces_.empty()) result.pieces_.emplace_back(std::string(line));
  return result;
}

std::string TextTemplate::render(const Bindings& bindings) const {
  std::string text;
  for (const Piece& piece : pieces_) {
    const auto* literal = std::get_if<std::string>(&piece);
    text += literal ? *literal : expr::to_string(std::get<Expression>(piece).evaluate(bindings));
  }
  return text;
}

}  // namespace evo
