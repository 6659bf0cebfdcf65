#include "evaluator/vgpu/parser.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "evaluator/vgpu/lexer.h"
#include "evaluator/vgpu/load_error.h"

namespace evo::vgpu::ptx {
namespace {

// Far above what a compiler writes; they keep hostile text from exhausting memory.
constexpr std::uint64_t kMaxRegisters = 4'000'000;
constexpr std::uint64_t kMaxVariableBytes = 1ull << 30;
constexpr int kMaxNesting = 64;

Space parse_space(std::string_view name) {
  if (name == "global") return Space::global;
  if (name == "shared") return Space::shared;
  if (name == "const") return Space::constant;
  if (name == "local") return Space::local;
  if (name == "param") return Space::param;
  if (name == "reg") return Space::reg;
  return Space::none;
}

/// What a name means inside a function.
struct Binding {
  enum class Kind : std::uint8_t { reg, variable, label } kind = Kind::reg;
  std::uint32_t index = 0;
};

/// `.reg .b32 %r<93>;` binds %r0 to %r92.
struct RegisterRange {
  std::string_view prefix;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

struct Scope {
  std::int32_t parent = -1;
  std::unordered_map<std::string_view, Binding> names;
  std::vector<RegisterRange> ranges;
};

class Parser {
 public:
  explicit Parser(Module& module) : module_(module), lexer_(module.text) {}
  void run();

 private:
  // Module level.
  void module_directive(std::string_view name);
  void linked_declaration();
  void declare_module_variable(Space space);
  void function(bool entry);
  void parameters(Function& function);
  void performance_directives(Function& function);
  std::array<std::uint32_t, 3> dimensions();
  void body(Function& function);

  // Variables.
  Variable variable(Space space);
  void array_dimensions(Variable& variable);
  void initialiser(Variable& variable);
  void initial_elements(Variable& variable, int depth);
  void initial_element(Variable& variable);
  void append(Variable& variable, std::uint64_t bits, int bytes);

  // Statements.
  void body_directive(Function& function);
  void declare_registers(Function& function);
  void declare_body_variable(Function& function, Space space);
  void location();
  void file();
  void label_or_instruction(Function& function);
  void instruction(Function& function, Statement statement, std::string_view first);
  void branch_table(Function& function, std::uint32_t label);
  void guard(Statement& statement);

  // Operands.
  Operand operand(int depth);
  Operand list(Operand::Kind kind, char open, char close, int depth);
  Operand address(int depth);
  Operand number_operand();
  Operand named();
  void suffixes_of(Operand& operand);
  std::optional<Binding> find(std::string_view name) const;
  std::optional<std::uint32_t> find_in_ranges(const Scope& scope, std::string_view name) const;
  std::uint32_t register_named(std::string_view name);
  void bind(std::string_view name, Binding binding);
  void enter_scope();
  void leave_scope();
  void resolve_labels(Function& function);
  void resolve_label(Operand& operand);

  Module& module_;
  Lexer lexer_;
  std::vector<Scope> scopes_;
  std::int32_t scope_ = -1;
  int scope_depth_ = 0;
  std::vector<std::pair<std::uint32_t, std::vector<Operand>>> tables_;
  std::uint32_t line_ = 0;
  std::uint32_t main_file_ = 0;
};

void Parser::run() {
  while (!lexer_.at_end()) {
    if (lexer_.peek() != '.') {
      lexer_.fail("a directive is expected, found '" + std::string(lexer_.identifier()) + "'");
    }
    module_directive(lexer_.directive());
  }
}

void Parser::module_directive(std::string_view name) {
  if (name == "version" || name == "target" || name == "address_size") {
    std::string_view value = lexer_.rest_of_line();
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\r')) value.remove_suffix(1);
    if (name == "version") module_.version = value;
    if (name == "target") module_.target = value.substr(0, value.find(','));
    if (name == "address_size" && value != "64") lexer_.fail("only 64-bit addresses are supported");
  } else if (name == "file") {
    file();
  } else if (name == "section") {
    lexer_.directive();
    lexer_.skip_block();
  } else if (name == "extern" || name == "visible" || name == "weak" || name == "common") {
    linked_declaration();
  } else if (name == "entry" || name == "func") {
    function(name == "entry");
  } else if (name == "pragma" || name == "alias") {
    lexer_.skip_statement();
  } else if (const Space space = parse_space(name); space != Space::none && space != Space::reg) {
    declare_module_variable(space);
  } else {
    lexer_.fail("unknown directive ." + std::string(name));
  }
}

void Parser::linked_declaration() {
  const std::string_view name = lexer_.directive();
  if (name == "entry" || name == "func") {
    function(name == "entry");
  } else if (const Space space = parse_space(name); space != Space::none && space != Space::reg) {
    declare_module_variable(space);
  } else {
    lexer_.fail("unknown directive ." + std::string(name) + " after a linking directive");
  }
}

void Parser::declare_module_variable(Space space) {
  do {
    Variable declared = variable(space);
    const auto [entry, fresh] =
        module_.variable_index.emplace(declared.name, static_cast<std::uint32_t>(module_.variables.size()));
    if (fresh) {
      module_.variables.push_back(std::move(declared));
    } else {
      module_.variables[entry->second] = std::move(declared);  // The definition of something declared before.
    }
  } while (lexer_.take(','));
  lexer_.expect(';');
}

// ---- Variables

Variable Parser::variable(Space space) {
  Variable result;
  result.space = space;
  std::uint64_t align = 0;
  int lanes = 1;
  while (lexer_.peek() == '.') {
    const std::string_view name = lexer_.directive();
    if (name == "align") {
      align = lexer_.unsigned_integer();
      if (!std::has_single_bit(align) || align > 4096) lexer_.fail("a malformed alignment");
    } else if (name == "v2" || name == "v4" || name == "v8") {
      lanes = name[1] - '0';
    } else if (name == "attribute") {
      lexer_.expect('(');
      while (!lexer_.take(')')) {
        if (lexer_.at_end()) lexer_.fail("the text ends inside an attribute");
        if (!lexer_.take('.') && !lexer_.take(',')) lexer_.starts_number() ? void(lexer_.number()) : void(lexer_.identifier());
      }
    } else if (name == "ptr") {
      // What a pointer parameter points to: a hint.
      while (lexer_.peek() == '.') {
        if (lexer_.directive() == "align") lexer_.unsigned_integer();
      }
    } else if (parse_type(name) != Type::none) {
      result.type = parse_type(name);
    } else {
      lexer_.fail("unknown attribute ." + std::string(name) + " of a variable");
    }
  }
  result.name = lexer_.identifier();
  const std::uint64_t element = static_cast<std::uint64_t>(bits_of(result.type) + 7) / 8;
  result.bytes = element * static_cast<std::uint64_t>(lanes);
  result.align = align != 0 ? align : result.bytes;
  if (lexer_.peek() == '<') lexer_.fail("parameterised variables are not supported");
  array_dimensions(result);
  if (lexer_.take('=')) initialiser(result);
  return result;
}

void Parser::array_dimensions(Variable& variable) {
  while (lexer_.take('[')) {
    if (lexer_.take(']')) {
      variable.unsized = true;
      variable.bytes = 0;
      continue;
    }
    const std::uint64_t count = lexer_.unsigned_integer();
    lexer_.expect(']');
    if (count > kMaxVariableBytes || variable.bytes * count > kMaxVariableBytes) lexer_.fail("an array is too large");
    variable.bytes *= count;
  }
}

void Parser::initialiser(Variable& variable) {
  const bool sized_by_data = variable.unsized;
  if (lexer_.peek() == '{') {
    initial_elements(variable, 0);
  } else {
    initial_element(variable);
  }
  if (sized_by_data) {
    variable.unsized = false;
    variable.bytes = variable.data.size();
  }
  if (variable.data.size() > variable.bytes) lexer_.fail("more initial values than '" + std::string(variable.name) + "' holds");
}

void Parser::initial_elements(Variable& variable, int depth) {
  if (depth > kMaxNesting) lexer_.fail("initial values are nested too deeply");
  lexer_.expect('{');
  if (lexer_.take('}')) return;
  do {
    if (lexer_.peek() == '{') {
      initial_elements(variable, depth + 1);
    } else {
      initial_element(variable);
    }
  } while (lexer_.take(','));
  lexer_.expect('}');
}

void Parser::append(Variable& variable, std::uint64_t bits, int bytes) {
  if (variable.data.size() > kMaxVariableBytes) lexer_.fail("too many initial values");
  for (int i = 0; i < bytes; ++i) variable.data.push_back(static_cast<std::uint8_t>(bits >> (8 * i)));
}

void Parser::initial_element(Variable& variable) {
  const int bytes = bits_of(variable.type) / 8;
  if (lexer_.starts_number()) {
    const Lexer::Number value = lexer_.number();
    std::uint64_t bits = value.bits;
    if (value.kind == Lexer::Number::Kind::f64 && variable.type == Type::f32) {
      bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(value.bits)));
    }
    append(variable, bits, bytes > 8 ? 8 : bytes);
    if (bytes > 8) append(variable, 0, bytes - 8);
    return;
  }
  // The address of a variable: name, generic(name), name + offset.
  Variable::Relocation relocation;
  relocation.offset = variable.data.size();
  relocation.bytes = bytes;
  std::string_view name = lexer_.identifier();
  if (name == "generic") {
    relocation.generic = true;
    lexer_.expect('(');
    name = lexer_.identifier();
    lexer_.expect(')');
  }
  relocation.target = name;
  if (lexer_.take('+') || lexer_.peek() == '-') {
    relocation.addend = static_cast<std::int64_t>(lexer_.number().bits);
  }
  variable.relocations.push_back(std::move(relocation));
  append(variable, 0, bytes);
}

// ---- Functions

void Parser::function(bool entry) {
  Function result;
  result.entry = entry;
  if (!entry && lexer_.peek() == '.') {
    if (lexer_.directive() != "attribute") lexer_.fail("unknown attribute of a function");
    lexer_.skip_statement();
    return;
  }
  scopes_.clear();
  scope_ = -1;
  scope_depth_ = 0;
  tables_.clear();
  line_ = 0;
  enter_scope();
  if (lexer_.peek() == '(') parameters(result);
  result.result_count = result.variables.size();
  result.name = lexer_.identifier();
  if (lexer_.peek() == '(') parameters(result);
  result.parameter_count = result.variables.size() - result.result_count;
  performance_directives(result);
  if (!lexer_.take(';')) {
    result.defined = true;
    body(result);
  }
  const auto [found, fresh] =
      module_.function_index.emplace(result.name, static_cast<std::uint32_t>(module_.functions.size()));
  if (fresh) {
    module_.functions.push_back(std::move(result));
  } else if (result.defined) {
    if (module_.functions[found->second].defined) lexer_.fail("function '" + std::string(result.name) + "' is defined twice");
    module_.functions[found->second] = std::move(result);
  }
}

void Parser::parameters(Function& function) {
  lexer_.expect('(');
  if (lexer_.take(')')) return;
  do {
    const std::string_view space = lexer_.directive();
    if (space == "reg") lexer_.fail("a function takes parameters in registers: not supported");
    if (space != "param") lexer_.fail("a parameter is expected");
    Variable declared = variable(Space::param);
    function.variables.push_back(std::move(declared));
  } while (lexer_.take(','));
  lexer_.expect(')');
}

std::array<std::uint32_t, 3> Parser::dimensions() {
  std::array<std::uint32_t, 3> result{1, 1, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    result[i] = static_cast<std::uint32_t>(lexer_.unsigned_integer());
    if (!lexer_.take(',')) break;
  }
  return result;
}

void Parser::performance_directives(Function& function) {
  while (lexer_.peek() == '.') {
    const std::string_view name = lexer_.directive();
    if (name == "maxntid") {
      function.maximum_block = dimensions();
    } else if (name == "reqntid") {
      function.required_block = dimensions();
    } else if (name == "reqnctapercluster") {
      function.required_cluster = dimensions();
    } else if (name == "minnctapersm" || name == "maxnctapersm" || name == "maxnreg" || name == "maxclusterrank") {
      lexer_.unsigned_integer();
    } else if (name == "pragma") {
      lexer_.skip_statement();
    } else if (name != "noreturn" && name != "explicitcluster" && name != "blocksareclusters") {
      lexer_.fail("unknown directive ." + std::string(name) + " of a function");
    }
  }
}

void Parser::body(Function& function) {
  for (std::size_t i = 0; i < function.variables.size(); ++i) {
    bind(function.variables[i].name, {Binding::Kind::variable, static_cast<std::uint32_t>(i)});
  }
  lexer_.expect('{');
  const int outer = scope_depth_;
  while (true) {
    if (lexer_.at_end()) lexer_.fail("the text ends inside function '" + std::string(function.name) + "'");
    if (lexer_.take('{')) {
      enter_scope();
    } else if (lexer_.take('}')) {
      if (scope_depth_ == outer) break;
      leave_scope();
    } else if (lexer_.peek() == '.') {
      body_directive(function);
    } else if (!lexer_.take(';')) {
      label_or_instruction(function);
    }
  }
  resolve_labels(function);
}

void Parser::enter_scope() {
  if (scope_depth_ >= kMaxNesting) lexer_.fail("blocks are nested too deeply");
  scopes_.emplace_back();
  scopes_.back().parent = scope_;
  scope_ = static_cast<std::int32_t>(scopes_.size()) - 1;
  ++scope_depth_;
}

void Parser::leave_scope() {
  scope_ = scopes_[static_cast<std::size_t>(scope_)].parent;
  --scope_depth_;
}

void Parser::bind(std::string_view name, Binding binding) {
  scopes_[static_cast<std::size_t>(scope_)].names[name] = binding;
}

void Parser::body_directive(Function& function) {
  const std::string_view name = lexer_.directive();
  if (name == "loc") {
    location();
  } else if (name == "file") {
    file();
  } else if (name == "reg") {
    declare_registers(function);
  } else if (name == "pragma" || name == "callprototype" || name == "calltargets") {
    lexer_.skip_statement();
  } else if (const Space space = parse_space(name); space != Space::none) {
    declare_body_variable(function, space);
  } else {
    lexer_.fail("unknown directive ." + std::string(name) + " in function '" + std::string(function.name) + "'");
  }
}

void Parser::declare_registers(Function& function) {
  Type type = Type::none;
  while (lexer_.peek() == '.') {
    const std::string_view name = lexer_.directive();
    if (name == "align") {
      lexer_.unsigned_integer();
    } else if (parse_type(name) != Type::none) {
      type = parse_type(name);
    } else {
      lexer_.fail("registers of type ." + std::string(name) + " are not supported");
    }
  }
  if (type == Type::none) lexer_.fail("a register without a type");
  do {
    const std::string_view name = lexer_.identifier();
    std::uint64_t count = 1;
    const auto first = static_cast<std::uint32_t>(function.registers.size());
    if (lexer_.take('<')) {
      count = lexer_.unsigned_integer();
      lexer_.expect('>');
      if (count + function.registers.size() > kMaxRegisters) lexer_.fail("too many registers");
      scopes_[static_cast<std::size_t>(scope_)].ranges.push_back({name, first, static_cast<std::uint32_t>(count)});
    } else {
      bind(name, {Binding::Kind::reg, first});
    }
    function.registers.resize(function.registers.size() + count, Register{type});
  } while (lexer_.take(','));
  lexer_.expect(';');
}

void Parser::declare_body_variable(Function& function, Space space) {
  do {
    Variable declared = variable(space);
    bind(declared.name, {Binding::Kind::variable, static_cast<std::uint32_t>(function.variables.size())});
    function.variables.push_back(std::move(declared));
  } while (lexer_.take(','));
  lexer_.expect(';');
}

void Parser::file() {
  const auto index = static_cast<std::uint32_t>(lexer_.unsigned_integer());
  if (main_file_ == 0) main_file_ = index;
  lexer_.rest_of_line();
}

/// `.loc FILE LINE COLUMN`, then perhaps `, function_name LABEL, inlined_at FILE LINE COLUMN`.
void Parser::location() {
  const std::uint64_t file = lexer_.unsigned_integer();
  const std::uint64_t line = lexer_.unsigned_integer();
  const std::string_view rest = lexer_.rest_of_line();
  if (main_file_ == 0) main_file_ = static_cast<std::uint32_t>(file);
  if (file == main_file_) {
    // Line 0 marks code that the compiler moved; the line before is a better guide.
    if (line != 0) line_ = static_cast<std::uint32_t>(line);
    return;
  }
  constexpr std::string_view kInlined = "inlined_at ";
  const auto at = rest.find(kInlined);
  if (at == std::string_view::npos) return;
  Lexer caller(rest.substr(at + kInlined.size()));
  const std::uint64_t caller_file = caller.unsigned_integer();
  const std::uint64_t caller_line = caller.unsigned_integer();
  if (caller_file == main_file_ && caller_line != 0) line_ = static_cast<std::uint32_t>(caller_line);
}

void Parser::label_or_instruction(Function& function) {
  Statement statement;
  statement.ptx_line = lexer_.line();
  statement.line = line_;
  if (lexer_.take('@')) {
    guard(statement);
    statement.ptx_line = lexer_.line();
    instruction(function, std::move(statement), lexer_.identifier());
    return;
  }
  const std::string_view first = lexer_.identifier();
  if (!lexer_.take(':')) {
    instruction(function, std::move(statement), first);
    return;
  }
  const auto label = static_cast<std::uint32_t>(function.labels.size());
  function.labels.push_back(static_cast<std::uint32_t>(function.body.size()));
  bind(first, {Binding::Kind::label, label});
  if (lexer_.peek() == '.') {
    Lexer ahead = lexer_;
    if (ahead.directive() == "branchtargets") branch_table(function, label);
  }
}

void Parser::branch_table(Function& function, std::uint32_t label) {
  lexer_.directive();
  std::vector<Operand> targets;
  do {
    Operand target;
    target.kind = Operand::Kind::label;
    target.name = lexer_.identifier();
    target.bits = static_cast<std::uint64_t>(scope_);
    targets.push_back(std::move(target));
  } while (lexer_.take(','));
  lexer_.expect(';');
  function.branch_tables[label];
  tables_.emplace_back(label, std::move(targets));
}

void Parser::guard(Statement& statement) {
  statement.guard_negated = lexer_.take('!');
  statement.guard = static_cast<std::int32_t>(register_named(lexer_.identifier()));
}

void Parser::instruction(Function& function, Statement statement, std::string_view first) {
  statement.parts.push_back(first);
  for (std::string_view part = lexer_.take_suffix(); !part.empty(); part = lexer_.take_suffix()) {
    statement.parts.push_back(part);
  }
  if (!lexer_.take(';')) {
    do {
      statement.operands.push_back(operand(0));
    } while (lexer_.take(','));
    lexer_.expect(';');
  }
  function.body.push_back(std::move(statement));
}

// ---- Operands

Operand Parser::operand(int depth) {
  if (depth > 4) lexer_.fail("operands are nested too deeply");
  switch (lexer_.peek()) {
    case '{': return list(Operand::Kind::vector, '{', '}', depth);
    case '(': return list(Operand::Kind::group, '(', ')', depth);
    case '[': return address(depth);
    default: break;
  }
  const bool negated = lexer_.take('!');
  if (!negated && lexer_.starts_number()) return number_operand();
  if (!negated && lexer_.take('-')) {
    Operand result = named();
    result.negated = true;
    return result;
  }
  Operand result = named();
  result.negated = negated;
  suffixes_of(result);
  return result;
}

Operand Parser::list(Operand::Kind kind, char open, char close, int depth) {
  Operand result;
  result.kind = kind;
  lexer_.expect(open);
  if (lexer_.take(close)) return result;
  do {
    result.elements.push_back(operand(depth + 1));
  } while (lexer_.take(','));
  lexer_.expect(close);
  return result;
}

Operand Parser::address(int depth) {
  Operand result;
  result.kind = Operand::Kind::address;
  lexer_.expect('[');
  result.elements.push_back(operand(depth + 1));
  if (lexer_.take('+') || lexer_.peek() == '-') {
    result.offset = static_cast<std::int64_t>(lexer_.number().bits);
  }
  // A variable's own offset (x+8) and the bracket's are one.
  result.offset += result.elements[0].offset;
  result.elements[0].offset = 0;
  while (lexer_.take(',')) result.elements.push_back(operand(depth + 1));
  lexer_.expect(']');
  return result;
}

Operand Parser::number_operand() {
  const Lexer::Number value = lexer_.number();
  Operand result;
  result.bits = value.bits;
  switch (value.kind) {
    case Lexer::Number::Kind::integer: result.kind = Operand::Kind::integer; break;
    case Lexer::Number::Kind::f32: result.kind = Operand::Kind::f32; break;
    case Lexer::Number::Kind::f64: result.kind = Operand::Kind::f64; break;
  }
  return result;
}

std::optional<std::uint32_t> Parser::find_in_ranges(const Scope& scope, std::string_view name) const {
  for (const RegisterRange& range : scope.ranges) {
    if (!name.starts_with(range.prefix) || name.size() == range.prefix.size()) continue;
    const std::string_view digits = name.substr(range.prefix.size());
    std::uint32_t number = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size()) continue;
    if (number < range.count && (digits.size() == 1 || digits[0] != '0')) return range.first + number;
  }
  return std::nullopt;
}

std::optional<Binding> Parser::find(std::string_view name) const {
  for (std::int32_t at = scope_; at >= 0; at = scopes_[static_cast<std::size_t>(at)].parent) {
    const Scope& scope = scopes_[static_cast<std::size_t>(at)];
    if (const auto reg = find_in_ranges(scope, name)) return Binding{Binding::Kind::reg, *reg};
    if (const auto found = scope.names.find(name); found != scope.names.end()) return found->second;
  }
  return std::nullopt;
}

std::uint32_t Parser::register_named(std::string_view name) {
  const auto found = find(name);
  if (!found || found->kind != Binding::Kind::reg) lexer_.fail("unknown register '" + std::string(name) + "'");
  return found->index;
}

Operand Parser::named() {
  Operand result;
  const std::string_view name = lexer_.identifier();
  if (name == "_") {
    result.kind = Operand::Kind::sink;
    return result;
  }
  if (name == "WARP_SZ") {
    result.kind = Operand::Kind::integer;
    result.bits = 32;
    return result;
  }
  const auto found = find(name);
  if (found && found->kind != Binding::Kind::label) {
    result.kind = found->kind == Binding::Kind::reg ? Operand::Kind::reg : Operand::Kind::variable;
    result.index = found->index;
    return result;
  }
  if (name.front() == '%') {
    result.kind = Operand::Kind::special;
    const std::string_view component = lexer_.take_suffix();
    // Both pieces adjoin in the text: one view covers them.
    result.name = component.empty() ? name
                                    : std::string_view(name.data(), static_cast<std::size_t>(component.data() +
                                                                                            component.size() - name.data()));
    return result;
  }
  if (const auto variable = module_.variable_index.find(name); variable != module_.variable_index.end() && !found) {
    result.kind = Operand::Kind::variable;
    result.of_module = true;
    result.index = variable->second;
    return result;
  }
  // A label, perhaps of further down, or a function: decided when the function is complete.
  result.kind = Operand::Kind::label;
  result.name = name;
  result.bits = static_cast<std::uint64_t>(scope_);
  return result;
}

/// %r1|%p1 and x+8.
void Parser::suffixes_of(Operand& operand) {
  if (operand.kind == Operand::Kind::reg || operand.kind == Operand::Kind::sink) {
    if (!lexer_.take('|')) return;
    const std::string_view second = lexer_.identifier();
    operand.pair = second == "_" ? kSinkRegister : static_cast<std::int32_t>(register_named(second));
  } else if (operand.kind == Operand::Kind::variable) {
    if (lexer_.take('+') || lexer_.peek() == '-') operand.offset = static_cast<std::int64_t>(lexer_.number().bits);
  }
}

void Parser::resolve_label(Operand& operand) {
  for (Operand& element : operand.elements) resolve_label(element);
  if (operand.kind != Operand::Kind::label) return;
  for (auto at = static_cast<std::int32_t>(operand.bits); at >= 0; at = scopes_[static_cast<std::size_t>(at)].parent) {
    const auto& names = scopes_[static_cast<std::size_t>(at)].names;
    const auto found = names.find(operand.name);
    if (found == names.end() || found->second.kind != Binding::Kind::label) continue;
    operand.index = found->second.index;
    return;
  }
  operand.kind = Operand::Kind::function;
}

void Parser::resolve_labels(Function& function) {
  for (Statement& statement : function.body) {
    for (Operand& operand : statement.operands) resolve_label(operand);
  }
  for (auto& [label, targets] : tables_) {
    for (Operand& target : targets) {
      resolve_label(target);
      if (target.kind != Operand::Kind::label) lexer_.fail("unknown label '" + std::string(target.name) + "'");
      function.branch_tables[label].push_back(target.index);
    }
  }
}

}  // namespace

std::unique_ptr<Module> parse(std::string text) {
  auto module = std::make_unique<Module>();
  module->text = std::move(text);
  Parser(*module).run();
  return module;
}

}  // namespace evo::vgpu::ptx
