#include "engine/base/text.h"
#include "evaluator/vgpu/ptx/parser_state.h"

// Function bodies: scopes, statements and their operands.
namespace evo::vgpu::ptx {
namespace {

constexpr std::uint64_t kMaxRegisters = 4'000'000;
constexpr int kMaxScopes = 64;

}  // namespace

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
  if (scope_depth_ >= kMaxScopes) lexer_.fail("blocks are nested too deeply");
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
  const Variable properties = variable_properties(space);
  do {
    Variable declared = named_variable(properties);
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
    // Line 0 marks code that the compiler moved; the preceding line is a better guess.
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
    case '{': {
      Operand vector = list(Operand::Kind::vector, '{', '}', depth);
      pair_of(vector);
      return vector;
    }
    case '(':
      return list(Operand::Kind::group, '(', ')', depth);
    case '[':
      return address(depth);
    default:
      break;
  }
  const bool negated = lexer_.take('!');
  if (!negated && lexer_.starts_number()) return number_operand();
  if (!negated && lexer_.take('-')) {
    Operand result = named();
    result.negated = true;
    suffixes_of(result);
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
  if (lexer_.take(close)) {
    if (kind == Operand::Kind::vector) lexer_.fail("a vector without elements");
    return result;
  }
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
    case Lexer::Number::Kind::integer:
      result.kind = Operand::Kind::integer;
      break;
    case Lexer::Number::Kind::f32:
      result.kind = Operand::Kind::f32;
      break;
    case Lexer::Number::Kind::f64:
      result.kind = Operand::Kind::f64;
      break;
  }
  return result;
}

std::optional<std::uint32_t> Parser::find_in_ranges(const Scope& scope, std::string_view name) const {
  for (const RegisterRange& range : scope.ranges) {
    if (!name.starts_with(range.prefix) || name.size() == range.prefix.size()) continue;
    const std::string_view digits = name.substr(range.prefix.size());
    const auto number = number_in<std::uint32_t>(digits);
    if (number && *number < range.count && (digits.size() == 1 || digits[0] != '0')) return range.first + *number;
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
    result.name = component.empty()
                      ? name
                      : std::string_view(name.data(),
                                         static_cast<std::size_t>(component.data() + component.size() - name.data()));
    return result;
  }
  if (const auto variable = module_.variable_index.find(name); variable != module_.variable_index.end() && !found) {
    result.kind = Operand::Kind::variable;
    result.of_module = true;
    result.index = variable->second;
    return result;
  }
  // A label (perhaps a later one) or a function: resolved when the function is complete.
  result.kind = Operand::Kind::label;
  result.name = name;
  result.bits = static_cast<std::uint64_t>(scope_);
  return result;
}

/// %r1|%p1, %r1.b0 and x+8.
void Parser::suffixes_of(Operand& operand) {
  if (operand.kind == Operand::Kind::reg || operand.kind == Operand::Kind::sink) {
    if (operand.kind == Operand::Kind::reg) operand.name = lexer_.take_suffix();
    pair_of(operand);
  } else if (operand.kind == Operand::Kind::variable) {
    if (lexer_.take('+') || lexer_.peek() == '-') operand.offset = static_cast<std::int64_t>(lexer_.number().bits);
  }
}

void Parser::pair_of(Operand& operand) {
  if (!lexer_.take('|')) return;
  const std::string_view second = lexer_.identifier();
  operand.pair = second == "_" ? kSinkRegister : static_cast<std::int32_t>(register_named(second));
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

}  // namespace evo::vgpu::ptx
