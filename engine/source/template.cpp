#include "engine/source/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/expression/expression_node.h"
#include "engine/source/preprocessor_lines.h"
#include "engine/source/template_paths.h"
#include "engine/source/template_syntax.h"

namespace evo {
namespace {

namespace syntax = template_syntax;

constexpr std::size_t kMaxIncludeDepth = 16;
constexpr std::int64_t kMaxIterations = 100'000;  // of all loops of one rendering together
constexpr std::int64_t kMaxSteps = 10'000'000;    // statements, and nodes of the expressions that they evaluate
constexpr std::size_t kMaxOutput = 4 << 20;       // characters

// Runs something that throws errors without a place, and adds the place.
template <typename Action>
auto at(const syntax::Place& place, Action action) {
  try {
    return action();
  } catch (const Error& error) {
    syntax::fail(place, error.what());
  }
}

class Renderer {
 public:
  Renderer(const SourceTree& tree, std::string_view root, const Bindings& bindings)
      : tree_(tree), root_folder_(template_paths::folder_of(root)), known_(bindings), bindings_(bindings) {}

  Rendered render(std::string_view path) {
    const auto found = tree_.find(path);
    if (found == tree_.end()) throw usage_error(fmt::format("{}: no such template", path));
    nested({}, found->first, found->second, {});
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

  void define(const syntax::Place& place, const std::string& name, Value value) {
    if (!bindings_.emplace(name, std::move(value)).second)
      syntax::fail(place, fmt::format("'{}' is already defined", name));
    locals_.push_back(name);
  }

  const syntax::File& parsed(const std::string& path, const std::string& source) {
    auto parsed = parsed_.find(path);
    if (parsed == parsed_.end()) parsed = parsed_.emplace(path, syntax::parse_file(path, source)).first;
    return parsed->second;
  }

  void file(const syntax::Place& place, const syntax::File& file, const std::string& path,
            const std::vector<syntax::Argument>& arguments) {
    if (file.takes) return with_arguments(place, file, path, arguments);
    if (!arguments.empty())
      syntax::fail(place,
                   fmt::format("'{}' is passed, but {} declares nothing that it takes", arguments.front().name, path));
    block(file.block);
  }

  /// The file sees what it takes, and what the family's templates see everywhere: no other names of the including one.
  void with_arguments(const syntax::Place& place, const syntax::File& file, const std::string& path,
                      const std::vector<syntax::Argument>& arguments) {
    Bindings given = values_of(place, arguments);
    Bindings outside = std::exchange(bindings_, known_);
    std::vector<std::string> outside_locals = std::exchange(locals_, {});
    for (const syntax::Argument& parameter : file.takes->parameters) {
      if (const auto value = given.find(parameter.name); value != given.end()) {
        bindings_.insert_or_assign(parameter.name, value->second);
        given.erase(value);
      } else if (!bindings_.contains(parameter.name)) {
        if (!parameter.value) fail_missing(place, file, path, parameter.name);
        bindings_.emplace(parameter.name, evaluated(file.takes->place, *parameter.value));
      }
    }
    if (!given.empty())
      syntax::fail(place, fmt::format("'{}' is passed, but {} does not take it", given.begin()->first, path));
    block(file.block);
    bindings_ = std::move(outside);
    locals_ = std::move(outside_locals);
  }

  Bindings values_of(const syntax::Place& place, const std::vector<syntax::Argument>& arguments) {
    Bindings values;
    for (const syntax::Argument& argument : arguments) {
      if (argument.value) {
        values.emplace(argument.name, evaluated(place, *argument.value));
      } else {
        const auto here = bindings_.find(argument.name);
        if (here == bindings_.end())
          syntax::fail(place, fmt::format("'{}' is passed, but has no value here", argument.name));
        values.emplace(argument.name, here->second);
      }
    }
    return values;
  }

  [[noreturn]] static void fail_missing(const syntax::Place& place, const syntax::File& file, const std::string& path,
                                        const std::string& name) {
    if (!place.file)
      syntax::fail(file.takes->place, fmt::format("'{}' has no value: nothing includes this file", name));
    syntax::fail(place, fmt::format("{} takes '{}', which is not passed", path, name));
  }

  void block(const syntax::Block& block) {
    const Scope scope(*this);
    statements(block);
  }

  void statements(const syntax::Block& block) {
    for (const syntax::Statement& statement : block) {
      spend(statement.place, 1);
      std::visit([&](const auto& what) { execute(statement.place, what); }, statement.what);
    }
  }

  void spend(const syntax::Place& place, std::int64_t steps) {
    steps_ += steps;
    if (steps_ > kMaxSteps) syntax::fail(place, fmt::format("more than {} steps", kMaxSteps));
  }

  Value evaluated(const syntax::Place& place, const Expression& expression) {
    spend(place, expression.root().size);
    return at(place, [&] { return expression.evaluate(bindings_); });
  }

  bool holds(const syntax::Place& place, const Expression& condition) {
    spend(place, condition.root().size);
    return at(place, [&] { return condition.evaluate_bool(bindings_); });
  }

  std::int64_t number(const syntax::Place& place, const Expression& expression) {
    spend(place, expression.root().size);
    return at(place, [&] { return expression.evaluate_int(bindings_); });
  }

  void execute(const syntax::Place& place, const syntax::Text& text) {
    std::string line;
    for (const auto& piece : text.line.pieces()) {
      const auto* literal = std::get_if<std::string>(&piece);
      line += literal ? *literal : expr::to_string(evaluated(place, std::get<Expression>(piece)));
    }
    count_conditionals(line);
    if (text.line.pieces().size() > 1 || line.starts_with("#undef")) note_macro(line);
    write(place, is_included_once(line) ? "" : line);
  }

  /// A macro that an expression fills, "#define threads ${threads}", is for the templates: the compiler's own headers,
  /// which may use the word for something else, are included without it.
  void note_macro(std::string_view line) {
    const std::string_view defined = directive_text(line, "define");
    const std::string_view macro = defined.empty() ? directive_text(line, "undef") : defined;
    const auto end = std::ranges::find_if_not(macro, is_identifier_character);
    const std::string name(macro.begin(), end);
    macros_.erase(name);
    if (!defined.empty() && !name.empty() && (end == defined.end() || *end != '(')) macros_[name] = line;
  }

  void hide_macros(const syntax::Place& place) {
    for (const auto& [name, definition] : macros_) append(place, "#undef " + name);
    hidden_ = true;
  }

  void restore_macros(const syntax::Place& place) {
    for (const auto& [name, definition] : macros_) append(place, definition);
    hidden_ = false;
  }

  // How many #ifs are open.
  void count_conditionals(std::string_view line) {
    line = trim(line);
    if (!line.starts_with('#')) return;
    line = trim(line.substr(1));
    if (line.starts_with("if")) ++conditionals_;
    if (line.starts_with("endif") && conditionals_ > 0) --conditionals_;
  }

  void write(const syntax::Place& place, std::string_view line) {
    if (!macros_.empty()) {
      const bool includes = !directive_text(line, "include").empty();
      if (includes && !hidden_) hide_macros(place);
      if (hidden_ && !includes && !trim(line).empty() && !trim(line).starts_with("//")) restore_macros(place);
    }
    append(place, line);
  }

  void append(const syntax::Place& place, std::string_view line) {
    const std::size_t begin = output_.size();
    output_ += line;
    output_ += '\n';
    lines_.add(++line_, *place.file, place.line);
    // A string with line ends makes several lines of one.
    line_ += static_cast<std::size_t>(
                 std::count(output_.begin() + static_cast<std::ptrdiff_t>(begin), output_.end(), '\n')) -
             1;
    if (output_.size() > kMaxOutput) syntax::fail(place, fmt::format("more than {} characters of output", kMaxOutput));
  }

  void execute(const syntax::Place& place, const syntax::If& statement) {
    for (const auto& [condition, body] : statement.branches) {
      if (holds(place, condition)) return block(body);
    }
  }

  void execute(const syntax::Place& place, const syntax::For& loop) {
    const std::int64_t from = number(place, loop.from);
    const std::int64_t to = number(place, loop.to);
    for (std::int64_t i = from; i < to; ++i) {
      if (++iterations_ > kMaxIterations)
        syntax::fail(place, fmt::format("more than {} loop iterations", kMaxIterations));
      const Scope scope(*this);
      define(place, loop.variable, i);
      statements(loop.body);
    }
  }

  void execute(const syntax::Place&, const syntax::Probe& probe) {
    if (bindings_.contains(kProbing)) block(probe.body);
  }

  void execute(const syntax::Place& place, const syntax::Let& let) {
    for (const syntax::Argument& definition : let.definitions)
      define(place, definition.name, evaluated(place, *definition.value));
  }

  void execute(const syntax::Place& place, const syntax::Include& include) {
    const auto found = template_paths::find_included(tree_, root_folder_, *place.file, include.path);
    if (found == tree_.end()) {
      syntax::fail(place,
                   fmt::format("no file \"{0}\" next to this one, in the family's folder or in the templates folder",
                               include.path));
    }
    nested(place, found->first, found->second, include.arguments);
  }

  /// The text of the file in the place of the line, as the preprocessor would read it: one text is compiled.
  void execute(const syntax::Place& place, const syntax::Quoted& include) {
    const auto found = template_paths::find_quoted(tree_, root_folder_, *place.file, include.path);
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
    nested(place, path, found->second, {});
    if (guarded) write(place, "#endif");
  }

  static std::string guard_of(const std::string& path) {
    std::string name = "EVO_ONCE_" + path;
    for (char& c : name)
      if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    return name;
  }

  void execute(const syntax::Place& place, const syntax::Slot& slot) {
    const auto allele = bindings_.find(slot.gene);
    if (allele == bindings_.end()) syntax::fail(place, fmt::format("slot '{}': no gene of this name", slot.gene));
    const auto* stem = std::get_if<std::string>(&allele->second);
    if (!stem || !is_file_stem(*stem))
      syntax::fail(place, fmt::format("slot '{}': its value is not a file's name", slot.gene));
    const auto found = tree_.find(root_folder_ + slot.gene + "/" + *stem + ".cu");
    if (found == tree_.end()) {
      syntax::fail(place, fmt::format("slot '{0}': no file {1}{0}/{2}.cu", slot.gene, root_folder_, *stem));
    }
    nested(place, found->first, found->second, slot.arguments);
  }

  static bool is_file_stem(const std::string& stem) {
    return !stem.empty() && stem != ".." && stem.find_first_of("/\\") == std::string::npos;
  }

  void nested(const syntax::Place& place, const std::string& path, const std::string& source,
              const std::vector<syntax::Argument>& arguments) {
    open_.push_back(path);
    if (open_.size() > kMaxIncludeDepth + 1) {
      syntax::fail(place,
                   fmt::format("includes nested deeper than {}: does {} include itself?", kMaxIncludeDepth, path));
    }
    if (conditionals_ == 0 && is_included_once(source)) once_.insert(path);
    file(place, parsed(path, source), path, arguments);
    open_.pop_back();
  }

  const SourceTree& tree_;
  std::string root_folder_;
  const Bindings& known_;  // what every file sees
  Bindings bindings_;      // what is seen here
  std::vector<std::string> locals_;
  std::string output_;
  std::size_t line_ = 0;  // of the output, the last one
  LineMap lines_;
  std::vector<std::string> open_;  // the file that is rendered, and those that include each other, the innermost last
  std::set<std::string> once_;     // files that say #pragma once, and were read under no #if
  std::set<std::string> guarded_;  // files that say #pragma once, and were read under an #if
  int conditionals_ = 0;           // of the output, open #ifs
  std::map<std::string, std::string> macros_;  // the lines that define those that expressions fill
  bool hidden_ = false;                        // whether they are undefined just now
  std::int64_t iterations_ = 0;
  std::int64_t steps_ = 0;
  std::map<std::string, syntax::File> parsed_;  // files, by path
};

}  // namespace

std::string render_template(const SourceTree& tree, std::string_view path, const Bindings& bindings) {
  return render_with_lines(tree, path, bindings).text;
}

Rendered render_with_lines(const SourceTree& tree, std::string_view path, const Bindings& bindings) {
  return Renderer(tree, path, bindings).render(path);
}

}  // namespace evo
