#include "engine/choices/coarse_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>
#include <vector>

#include "engine/base/text.h"
#include "engine/choices/kernel_place.h"
#include "engine/choices/statement_tree.h"
#include "engine/source/source_mutation.h"

namespace evo {
namespace {

using Kind = KernelStatement::Kind;
using Names = std::set<std::string, std::less<>>;

constexpr const char* kMacros =
    "#define evo_all (each_x * each_y)\n"
    "#define evo_each _Pragma(\"unroll\") for (unsigned evo_v = 0; evo_v < evo_all; ++evo_v)\n"
    "#define evo_block_x (blockIdx.x * each_x + evo_v % each_x)\n"
    "#define evo_block_y (blockIdx.y * each_y + evo_v / each_x)\n";

bool is_assignment(std::string_view token) {
  static const std::set<std::string_view> kAssignments = {
      "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
  return kAssignments.contains(token);
}

/// "<T, WIDTH>" of "template <class T, int WIDTH = 4>"; empty of anything else.
std::string template_arguments(std::string_view declaration) {
  if (!declaration.starts_with("template")) return {};
  const std::size_t open = declaration.find('<'), close = declaration.rfind('>');
  if (close == std::string_view::npos) throw NotUnderstood("a template");
  static const std::regex name(R"(([A-Za-z_]\w*)\s*(=.*)?$)");
  std::vector<std::string> names;
  for (const std::string_view one : split_outside_brackets(declaration.substr(open + 1, close - open - 1), ",")) {
    const std::string parameter(one);
    std::smatch found;
    if (!std::regex_search(parameter, found, name)) throw NotUnderstood("a template");
    names.push_back(found[1]);
  }
  return "<" + joined(names, ", ") + ">";
}

class Coarsening {
 public:
  Coarsening(const std::string& source, const std::string& name, bool along_y)
      : source_(source), code_(code_only(source)), along_y_(along_y && code_.find("blockIdx.y") != std::string::npos) {
    const std::optional<KernelPlace> place = find_kernel(code_, name);
    if (!place) throw NotUnderstood("no kernel");
    place_ = *place;
    tokens_ = code_tokens(std::string_view(code_).substr(0, place_.body_close));
    while (first_ < tokens_.size() && tokens_[first_].begin <= place_.body) ++first_;
  }

  CoarseKernel make() {
    check_that_threads_work_alone();
    read_parameters();
    has_references_ = std::regex_search(code_, std::regex(R"([\w>]\s*&\s*\w+\s*[,)])"));
    const std::vector<KernelStatement> body = kernel_statements(tokens_, {first_, tokens_.size()});
    for (const KernelStatement& one : body) add_declared(one, locals_);
    for (std::size_t before = many_.size() + 1; before != many_.size();) {
      before = many_.size();
      for (const KernelStatement& one : body) spread(one, false, {});
    }
    for (const std::string& parameter : parameters_)
      if (many_.contains(parameter)) throw NotUnderstood("a parameter that changes");
    together(body);
    return {edited_source(), header(), kernel(), along_y_};
  }

 private:
  std::string_view text(std::size_t at) const { return at < tokens_.size() ? tokens_[at].text : std::string_view(); }
  bool is_member(std::size_t at) const {
    const std::string_view before = at == 0 ? std::string_view() : text(at - 1);
    return before == "." || before == "->" || before == "::";
  }

  void check_that_threads_work_alone() const {
    static const std::regex together(
        R"(__shared__|__sync|__shfl|__ballot|__any|__all_sync|__match|__reduce|__activemask|cooperative_groups|\bbarrier\b|\basm\b|\b__launch_bounds__|\bdim3\b)");
    if (std::regex_search(code_, together)) throw NotUnderstood("threads that work together");
    static const std::regex grid(R"(\b(blockIdx|gridDim)\b)");
    for (std::sregex_iterator at(code_.begin(), code_.end(), grid), end; at != end; ++at) {
      const auto offset = static_cast<std::size_t>(at->position());
      const char behind = code_[std::min(offset + static_cast<std::size_t>(at->length()), code_.size() - 1)];
      if (offset < place_.body || offset > place_.body_close || behind != '.')
        throw NotUnderstood("a block's place outside of the kernel");
    }
    if (code_.find("blockIdx.x") == std::string::npos) throw NotUnderstood("a block that does not ask for its place");
    const std::string body = source_.substr(place_.body, place_.body_close - place_.body);
    if (body.find('#') != std::string::npos || body.find('"') != std::string::npos)
      throw NotUnderstood("directives and texts");
  }

  void read_parameters() {
    const std::string list = code_.substr(place_.open + 1, place_.close - place_.open - 1);
    if (trim(list).empty()) throw NotUnderstood("no parameters");
    for (const std::string_view one : split_outside_brackets(list, ",")) {
      static const std::regex last_word(R"(([A-Za-z_]\w*)\s*(\[[^\]]*\]\s*)?$)");
      std::match_results<std::string_view::const_iterator> found;
      if (!std::regex_search(one.begin(), one.end(), found, last_word)) throw NotUnderstood("a parameter");
      parameters_.push_back(found[1]);
    }
    if (std::count(code_.begin(), begin_of(place_.global), '{') !=
        std::count(code_.begin(), begin_of(place_.global), '}'))
      throw NotUnderstood("a kernel in a namespace");
    const std::size_t before = code_.find_last_of(";}", place_.global);
    const std::size_t begin = code_.find_first_not_of(" \t\r\n", before == std::string::npos ? 0 : before + 1);
    const std::string_view declared = std::string_view(code_).substr(begin, place_.global - begin);
    if (declared.starts_with("extern")) linkage_ = "extern \"C\" ";
    template_arguments_ = template_arguments(declared);
    if (!template_arguments_.empty()) template_ = declared;
  }

  std::string::const_iterator begin_of(std::size_t offset) const {
    return code_.begin() + static_cast<std::ptrdiff_t>(offset);
  }

  // ---- Which variables have a value for each block

  bool has_many(TokenRange range, const Names& own) const {
    for (std::size_t at = range.first; at < range.last; ++at)
      if (!is_member(at) && (text(at) == "blockIdx" || (many_.contains(text(at)) && !own.contains(text(at)))))
        return true;
    return false;
  }

  /// The variables that a statement may change: what is assigned, counted, or handed to a function by name or address.
  std::vector<std::string> changed(TokenRange range) const {
    std::vector<std::string> names;
    std::size_t root = range.first;
    for (std::size_t at = range.first; at < range.last; ++at) {
      const std::string_view token = text(at);
      if (token == "," || token == ";" || token == "(") root = at + 1;
      const bool counted = token == "++" || token == "--";
      if (is_assignment(token)) {
        if (!is_parameter_element(root, at)) names.emplace_back(text(root));
        root = at + 1;
      }
      if (counted) names.emplace_back(is_identifier(text(at + 1)) ? text(at + 1) : root_before(at));
      const bool handed = has_references_ && is_identifier(token) && !is_member(at) &&
                          (text(at - 1) == "(" || text(at - 1) == ",") && (text(at + 1) == ")" || text(at + 1) == ",");
      if (handed || (text(at - 1) == "&" && is_identifier(token) && (text(at - 2) == "(" || text(at - 2) == ",")))
        names.emplace_back(token);
    }
    return names;
  }

  /// Whether what is assigned is an element of memory behind a parameter: "y[i] = ...".
  bool is_parameter_element(std::size_t root, std::size_t assignment) const {
    return assignment > root + 1 && std::ranges::find(parameters_, text(root)) != parameters_.end() &&
           (text(root + 1) == "[" || text(root + 1) == "->");
  }

  std::string_view root_before(std::size_t at) const {
    while (at > 0 && (!is_identifier(text(at - 1)) || is_member(at - 1))) --at;
    return text(at == 0 ? 0 : at - 1);
  }

  void spread_changes(TokenRange range, bool each, const Names& own) {
    if (!each && !has_many(range, own)) return;
    for (const std::string& name : changed(range)) {
      const bool known = locals_.contains(name) || std::ranges::find(parameters_, name) != parameters_.end();
      if (known && !own.contains(name) && is_assigned(range, name)) many_.insert(name);
    }
  }

  /// A parameter that is only handed to a function by value does not change.
  bool is_assigned(TokenRange range, const std::string& name) const {
    if (locals_.contains(name)) return true;
    for (std::size_t at = range.first; at + 1 < range.last; ++at)
      if (text(at) == name && (is_assignment(text(at + 1)) || text(at + 1) == "++" || text(at + 1) == "--"))
        return true;
    return false;
  }

  /// `each`: the statement is done for one block after the other; `own`: variables that it declares itself.
  void spread(const KernelStatement& statement, bool each, Names own) {
    if (statement.kind == Kind::declaration) {
      for (const Declarator& one : statement.declarators) {
        if (!each && (has_many(one.range, own) || has_atomics(one.range))) many_.insert(one.name);
        spread_changes(one.initial, each, own);
      }
      return;
    }
    each = each || is_for_each(statement, own);
    if (each) add_declared(statement, own);
    if (statement.parts.empty()) return spread_changes(statement.range, each || !is_done_once(statement), own);
    spread_changes(statement.head, each, own);
    for (const KernelStatement& part : statement.parts) spread(part, each, own);
  }

  void add_declared(const KernelStatement& statement, Names& own) const {
    for (const Declarator& one : statement.declarators) own.insert(one.name);
    if (statement.kind == Kind::loop)
      for (const std::string& name : declared_in_head(statement.head)) own.insert(name);
    for (const KernelStatement& part : statement.parts) add_declared(part, own);
  }

  /// The variables that the head of a loop declares.
  std::vector<std::string> declared_in_head(TokenRange head) const {
    std::size_t end = head.first;
    while (end < head.last && text(end) != ";") ++end;
    if (end == head.last) throw NotUnderstood("a loop over a range");
    std::vector<std::string> names;
    for (const KernelStatement& one : kernel_statements(tokens_, {head.first, end + 1}))
      for (const Declarator& variable : one.declarators) names.push_back(variable.name);
    return names;
  }

  /// Whether a statement with parts has to be done for one block after the other: blocks differ in its head.
  bool is_for_each(const KernelStatement& statement, const Names& own) const {
    if (statement.kind == Kind::whole) return true;
    if (statement.kind == Kind::loop) return has_many(statement.head, own) || leaves(statement);
    return statement.kind == Kind::choice && has_many(statement.head, own);
  }

  static bool leaves(const KernelStatement& statement) {
    return statement.kind == Kind::leave || std::ranges::any_of(statement.parts, leaves);
  }

  bool returns(const KernelStatement& statement) const {
    if (statement.kind == Kind::leave) return text(statement.range.first) == "return";
    return std::ranges::any_of(statement.parts, [this](const KernelStatement& part) { return returns(part); });
  }

  // ---- The code for all blocks at once

  std::string code(TokenRange range, const Names& own = {}) const {
    std::string written;
    for (std::size_t at = range.first; at < range.last; ++at) {
      const std::string_view token = text(at);
      if (at > range.first && tokens_[at].begin > tokens_[at - 1].begin + tokens_[at - 1].text.size()) written += ' ';
      if (token == "blockIdx" && (text(at + 2) == "x" || (along_y_ && text(at + 2) == "y"))) {
        written += text(at + 2) == "x" ? "evo_block_x" : "evo_block_y";
        at += 2;
      } else if (token == "gridDim" && (text(at + 2) == "x" || (along_y_ && text(at + 2) == "y"))) {
        written += text(at + 2) == "x" ? "evo_blocks_x" : "evo_blocks_y";
        at += 2;
      } else {
        written += token;
        if (!is_member(at) && many_.contains(token) && !own.contains(token)) written += "[evo_v]";
      }
    }
    return written;
  }

  void line(const std::string& written) { together_ += std::string(2 * depth_, ' ') + written + "\n"; }

  void write(const KernelStatement& statement) {
    if (statement.kind == Kind::declaration) return write_declaration(statement);
    if (is_for_each(statement, {}) || (statement.kind == Kind::expression && !is_done_once(statement)))
      return write_for_each(statement);
    switch (statement.kind) {
      case Kind::block:
        line("{");
        write_parts(statement.parts);
        return line("}");
      case Kind::loop:
        line(fmt::format("{}for ({}) {{", statement.prefix, code(statement.head)));
        write_parts(statement.parts);
        return line("}");
      case Kind::choice:
        line(fmt::format("if ({}) {{", code(statement.head)));
        write_parts({statement.parts.front()});
        if (statement.parts.size() > 1) {
          line("} else {");
          write_parts({statement.parts.back()});
        }
        return line("}");
      default:
        return line(code(statement.range));
    }
  }

  void write_parts(const std::vector<KernelStatement>& parts) {
    ++depth_;
    for (const KernelStatement& part : parts) write(part);
    --depth_;
  }

  void write_for_each(const KernelStatement& statement) {
    if (returns(statement)) throw NotUnderstood("threads that leave early");
    Names own;
    add_declared(statement, own);
    line(fmt::format("evo_each {{ {} }}", code(statement.range, own)));
  }

  bool has_atomics(TokenRange range) const {
    return std::any_of(tokens_.begin() + static_cast<std::ptrdiff_t>(range.first),
                       tokens_.begin() + static_cast<std::ptrdiff_t>(range.last),
                       [](const CodeToken& token) { return token.text.starts_with("atomic"); });
  }

  /// A statement that changes variables alone, and the same for all blocks.
  bool is_done_once(const KernelStatement& statement) const {
    if (has_many(statement.range, {}) || has_atomics(statement.range)) return false;
    const std::vector<std::string> names = changed(statement.range);
    const bool stores = is_identifier(text(statement.range.first)) && text(statement.range.first + 1) == "[" &&
                        !locals_.contains(text(statement.range.first));
    return !names.empty() && !stores &&
           std::ranges::all_of(names, [this](const std::string& name) { return locals_.contains(name); });
  }

  void write_declaration(const KernelStatement& statement) {
    for (const Declarator& one : statement.declarators) {
      if (!many_.contains(one.name)) {
        line(fmt::format("{} {};", code(statement.type), code(one.range)));
        continue;
      }
      std::string type;
      for (std::size_t at = statement.type.first; at < statement.type.last; ++at) {
        if (text(at) == "auto") throw NotUnderstood("a variable of an unknown type");
        if (one.pointers > 0 || (text(at) != "const" && text(at) != "constexpr")) type += std::string(text(at)) + " ";
      }
      if (one.extents.first < one.extents.last && one.opened_by != 0) throw NotUnderstood("an array with values");
      line(fmt::format("{}{}{}[evo_all]{};", type, std::string(one.pointers, '*'), one.name, code(one.extents)));
      if (one.opened_by != 0) line(fmt::format("evo_each {}[evo_v] = {};", one.name, initial(one, type)));
    }
  }

  std::string initial(const Declarator& one, const std::string& type) const {
    const std::string value = code(one.initial);
    if (one.opened_by == '=') return value.starts_with('{') ? type + value : value;
    if (one.opened_by == '{') return fmt::format("{}{{{}}}", type, value);
    if (value.find(',') == std::string::npos) return value;
    return fmt::format("{}({})", type, value);
  }

  /// The kernel's statements, up to which nothing has changed in memory, may send threads away.
  void together(const std::vector<KernelStatement>& body) {
    bool nothing_changed = true;
    for (std::size_t i = 0; i < body.size(); ++i) {
      const KernelStatement& one = body[i];
      const bool guard = one.kind == Kind::choice && one.parts.size() == 1;
      const KernelStatement* inner = guard ? &one.parts.front() : nullptr;
      const bool leaves_at_once = guard && is_return(*inner);
      if (leaves_at_once && !has_many(one.head, {})) {
        line(fmt::format("if ({}) return true;", code(one.head)));
      } else if (leaves_at_once && nothing_changed) {
        unless_any(code(one.head));
      } else if (guard && nothing_changed && i + 1 == body.size() && has_many(one.head, {}) && !returns(*inner)) {
        unless_any("!(" + code(one.head) + ")");
        write(*inner);
      } else if (returns(one)) {
        throw NotUnderstood("threads that leave early");
      } else {
        write(one);
      }
      if (has_atomics(one.range) || (one.kind != Kind::declaration && !leaves_at_once)) nothing_changed = false;
    }
  }

  bool is_return(const KernelStatement& statement) const {
    if (statement.kind == Kind::block) return statement.parts.size() == 1 && is_return(statement.parts.front());
    return statement.kind == Kind::leave && text(statement.range.first) == "return";
  }

  void unless_any(const std::string& condition) {
    line("{");
    line("  bool evo_any = false;");
    line(fmt::format("  evo_each evo_any = evo_any || ({});", condition));
    line("  if (evo_any) return false;");
    line("}");
  }

  // ---- What is made of it

  std::string head() const { return source_.substr(place_.global, place_.open - place_.global); }

  std::string header() const {
    std::string one_line = head();
    std::ranges::replace(one_line, '\n', ' ');
    std::string text;
    if (!along_y_) text += "#define each_y 1\n";
    return text + kMacros +
           fmt::format(
               "#if evo_all > 1\n#define evo_head __device__ __forceinline__ void evo_one\n"
               "#define evo_more , const uint3 evo_block, const uint3 evo_grid\n#else\n#define evo_head {}\n"
               "#define evo_more , const unsigned evo_blocks_x, const unsigned evo_blocks_y\n"
               "#define evo_block blockIdx\n#define evo_grid gridDim\n#endif\n",
               one_line);
  }

  std::string edited_source() const {
    std::string text = source_.substr(0, place_.global) + "evo_head";
    text += std::string(static_cast<std::size_t>(std::ranges::count(head(), '\n')), '\n');
    text += source_.substr(place_.open, place_.close - place_.open) + " evo_more";
    std::size_t at = place_.close;
    for (std::size_t token = first_; token < tokens_.size(); ++token) {
      if (is_of_grid(token)) {
        text += source_.substr(at, tokens_[token].begin - at) +
                (this->text(token) == "blockIdx" ? "evo_block" : "evo_grid");
        at = tokens_[token].begin + tokens_[token].text.size();
      }
    }
    return text + source_.substr(at);
  }

  bool is_of_grid(std::size_t token) const { return text(token) == "blockIdx" || text(token) == "gridDim"; }

  std::string kernel() const {
    const std::string parameters = code_.substr(place_.open + 1, place_.close - place_.open - 1);
    std::string text =
        "#if evo_all > 1\n// Whether the threads of all blocks went the same way; if not, nothing was done.\n";
    text += fmt::format(
        "{}__device__ __forceinline__ bool evo_together({}, const unsigned evo_blocks_x, "
        "const unsigned evo_blocks_y) {{\n",
        template_, parameters);
    text +=
        "  if ((blockIdx.x + 1) * each_x > evo_blocks_x || (blockIdx.y + 1) * each_y > evo_blocks_y) return false;\n";
    text += together_ + "  return true;\n}\n\n";
    text += fmt::format("{}{}{}({}, const unsigned evo_blocks_x, const unsigned evo_blocks_y) {{\n", template_,
                        linkage_, head(), parameters);
    text += fmt::format("  if (evo_together{}({}, evo_blocks_x, evo_blocks_y)) return;\n", template_arguments_,
                        joined(parameters_, ", "));
    text +=
        "#pragma unroll 1\n  for (unsigned evo_v = 0; evo_v < evo_all; ++evo_v)\n"
        "    if (evo_block_x < evo_blocks_x && evo_block_y < evo_blocks_y)\n";
    text += fmt::format(
        "      evo_one{}({}, make_uint3(evo_block_x, evo_block_y, blockIdx.z),\n"
        "              make_uint3(evo_blocks_x, evo_blocks_y, gridDim.z));\n}}\n#endif\n",
        template_arguments_, joined(parameters_, ", "));
    return text;
  }

  const std::string& source_;
  const std::string code_;
  const bool along_y_;
  KernelPlace place_;
  std::vector<CodeToken> tokens_;
  std::size_t first_ = 0;        ///< Of the body.
  bool has_references_ = false;  ///< Whether a function of the source may change what it is handed by name.
  std::vector<std::string> parameters_;
  std::string linkage_, template_, template_arguments_;  ///< Of the kernel's declaration; empty where it has none.
  Names locals_, many_;
  std::size_t depth_ = 1;
  std::string together_;
};

}  // namespace

std::optional<CoarseKernel> coarse_kernel(const std::string& source, const std::string& name, bool along_y) {
  try {
    return Coarsening(source, name, along_y).make();
  } catch (const NotUnderstood&) {
    return std::nullopt;
  }
}

}  // namespace evo
