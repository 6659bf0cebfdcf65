#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "evaluator/vgpu/ptx/lexer.h"
#include "evaluator/vgpu/ptx/ptx.h"

/// The recursive-descent parser that parse() uses. parser.cpp has the module level, parser_body.cpp the function
/// bodies.
namespace evo::vgpu::ptx {

Space parse_space(std::string_view name);

/// The register, variable or label that a name means inside a function.
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
  /// The properties that all names of a declaration share.
  Variable variable_properties(Space space);
  Variable named_variable(const Variable& properties);
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
  void pair_of(Operand& operand);
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

}  // namespace evo::vgpu::ptx
