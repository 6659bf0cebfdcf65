#include "evaluator/vgpu/ptx/parser.h"

#include <bit>

#include "evaluator/vgpu/ptx/parser_state.h"

namespace evo::vgpu::ptx {
namespace {

// Limits far above what a compiler emits. They keep hostile text from exhausting memory.
constexpr std::uint64_t kMaxVariableBytes = 1ull << 30;
constexpr int kMaxNesting = 64;

}  // namespace

Space parse_space(std::string_view name) {
  if (name == "global") return Space::global;
  if (name == "shared") return Space::shared;
  if (name == "const") return Space::constant;
  if (name == "local") return Space::local;
  if (name == "param") return Space::param;
  if (name == "reg") return Space::reg;
  return Space::none;
}

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
  const Variable properties = variable_properties(space);
  do {
    Variable declared = named_variable(properties);
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

Variable Parser::variable_properties(Space space) {
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
        if (lexer_.take('.') || lexer_.take(',')) continue;
        if (lexer_.starts_number())
          lexer_.number();
        else if (lexer_.identifier() == "managed")
          result.managed = true;
      }
    } else if (name == "ptr") {
      // A hint at what a pointer parameter points to.
      while (lexer_.peek() == '.') {
        if (lexer_.directive() == "align") lexer_.unsigned_integer();
      }
    } else if (parse_type(name) != Type::none) {
      result.type = parse_type(name);
    } else if (name == "texref" || name == "surfref" || name == "samplerref") {
      lexer_.fail("a variable of type ." + std::string(name) +
                  ": texture and surface references are not supported (nor by CUDA 12 and newer): pass the kernel an "
                  "object of cudaCreateTextureObject or cudaCreateSurfaceObject");
    } else {
      lexer_.fail("unknown attribute ." + std::string(name) + " of a variable");
    }
  }
  if (result.type == Type::pred) lexer_.fail("a variable of type .pred");
  const std::uint64_t element = static_cast<std::uint64_t>(bits_of(result.type) + 7) / 8;
  result.bytes = element * static_cast<std::uint64_t>(lanes);
  result.align = align != 0 ? align : result.bytes;
  return result;
}

Variable Parser::named_variable(const Variable& properties) {
  Variable result = properties;
  result.name = lexer_.identifier();
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
  if (variable.data.size() > variable.bytes)
    lexer_.fail("more initial values than '" + std::string(variable.name) + "' holds");
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
  if (bytes > 8) lexer_.fail("an address as an initial value of 128 bits");
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
  variable.relocations.push_back(relocation);
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
    if (module_.functions[found->second].defined)
      lexer_.fail("function '" + std::string(result.name) + "' is defined twice");
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
    Variable declared = named_variable(variable_properties(Space::param));
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

std::unique_ptr<Module> parse(std::string text) {
  auto module = std::make_unique<Module>();
  module->text = std::move(text);
  Parser(*module).run();
  return module;
}

}  // namespace evo::vgpu::ptx
