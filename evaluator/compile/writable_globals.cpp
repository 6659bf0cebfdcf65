#include "evaluator/compile/writable_globals.h"

#include <algorithm>

#include "evaluator/compile/ptx_text.h"

namespace evo {
namespace {

using ptx_text::instruction_of;
using ptx_text::is_blank;
using ptx_text::is_name_character;
using ptx_text::statements;
using ptx_text::trimmed;
using ptx_text::without_remarks;

/// What follows the state space of variables; empty where a statement declares none there. In an instruction ".global"
/// adjoins what is before it, and ".ptr .global" is where a parameter points.
std::string_view declared_in(std::string_view space, std::string_view statement) {
  for (std::size_t at = statement.find(space); at != std::string_view::npos; at = statement.find(space, at + 1)) {
    const std::string_view before = trimmed(statement.substr(0, at)), after = statement.substr(at + space.size());
    const bool adjoins = at > 0 && !is_blank(statement[at - 1]);
    if (!adjoins && !before.ends_with(".ptr") && !after.empty() && !is_name_character(after.front())) return after;
  }
  return {};
}

std::string_view declared_globals(std::string_view statement) {
  return declared_in(".global", statement);
}

/// The last name before "[" or "=".
std::string_view declared_name(std::string_view declarator) {
  std::string_view head = declarator.substr(0, declarator.find_first_of("[="));
  while (!head.empty() && !is_name_character(head.back())) head.remove_suffix(1);
  std::size_t begin = head.size();
  while (begin > 0 && is_name_character(head[begin - 1])) --begin;
  return head.substr(begin);
}

/// The names of a list of declarators, divided by the commas outside of brackets.
std::vector<std::string_view> declared_names(std::string_view declarators) {
  std::vector<std::string_view> names;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t at = 0; at <= declarators.size(); ++at) {
    const char c = at < declarators.size() ? declarators[at] : ',';
    if (c == '{' || c == '(') ++depth;
    if (c == '}' || c == ')') --depth;
    if (c != ',' || (depth > 0 && at < declarators.size())) continue;
    if (const auto name = declared_name(declarators.substr(begin, at - begin)); !name.empty()) names.push_back(name);
    begin = at + 1;
  }
  return names;
}

/// Whether a statement names the variable as a whole word.
bool names(std::string_view statement, std::string_view variable) {
  for (std::size_t at = statement.find(variable); at != std::string_view::npos; at = statement.find(variable, at + 1)) {
    const std::size_t end = at + variable.size();
    const bool begins = at == 0 || !is_name_character(statement[at - 1]);
    const bool ends = end == statement.size() || !is_name_character(statement[end]);
    if (begins && ends) return true;
  }
  return false;
}

/// A load by name: "ld.global.nc.u32 %r1, [table+4]".
bool only_loads(std::string_view statement) {
  return instruction_of(statement).starts_with("ld.global");
}

/// Variables whose addresses are taken only to read them. Tables are: their addresses, moved and added to, end in
/// loads. So are texts that a program prints, and what assertions say: NVRTC makes variables of them, whose addresses
/// go to functions of the driver that read them.
class ReadOnlyAddresses {
 public:
  explicit ReadOnlyAddresses(const std::vector<std::string_view>& statements) : statements_(statements) {}

  /// Whether nothing is done with the variable but load from it or print it.
  bool has(std::string_view variable) const {
    // A program could define functions of these names.
    for (const std::string_view statement : statements_) {
      const bool defines = is_head(statement) && statement.find(".extern") == std::string_view::npos;
      if (defines && (names(statement, "vprintf") || names(statement, "__assertfail"))) return false;
    }
    for (std::size_t at = 0; at < statements_.size(); ++at) {
      if (!names(statements_[at], variable)) continue;
      if (declares(statements_[at], variable)) {
        if (holds_address_of_itself(statements_[at], variable)) return false;
        continue;
      }
      const std::string_view instruction = instruction_of(statements_[at]);
      if (only_loads(instruction)) continue;
      if (!instruction.starts_with("mov.u64") && !instruction.starts_with("mov.b64")) return false;
      const std::string_view source = operand(instruction, 1);
      if (trimmed(source.substr(0, source.find('+'))) != variable) return false;
      if (!is_only_read(operand(instruction, 0), function_around(at))) return false;
    }
    return true;
  }

 private:
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  static bool declares(std::string_view statement, std::string_view variable) {
    return std::ranges::count(declared_names(declared_globals(statement)), variable) > 0;
  }

  static bool holds_address_of_itself(std::string_view declaration, std::string_view variable) {
    return names(declaration.substr(declaration.find(variable) + variable.size()), variable);
  }

  static bool is_head(std::string_view statement) {
    return statement.find(".entry") != std::string_view::npos || statement.find(".func") != std::string_view::npos;
  }

  /// "%rd2" is operand 1 of "cvta.global.u64 %rd3, %rd2".
  static std::string_view operand(std::string_view instruction, std::size_t number) {
    std::string_view rest = instruction;
    rest.remove_prefix(std::min(rest.find_first_of(" \t"), rest.size()));
    for (; number > 0; --number) rest.remove_prefix(std::min(rest.find(',') + 1, rest.size()));
    return trimmed(rest.substr(0, rest.find(',')));
  }

  /// Names of registers mean something else in another function.
  Range function_around(std::size_t at) const {
    Range range{at, at};
    while (range.begin > 0 && !is_head(statements_[range.begin])) --range.begin;
    while (range.end < statements_.size() && !is_head(statements_[range.end])) ++range.end;
    return range;
  }

  /// Follows an address from register to register. It must end in loads and in calls that print, and nowhere else.
  bool is_only_read(std::string_view first, Range function) const {
    std::vector<std::string_view> registers{first};
    bool read = false;
    for (std::size_t known = 0; known < registers.size(); ++known) {
      const std::string_view address = registers[known];
      for (std::size_t at = function.begin; at < function.end; ++at) {
        if (!names(statements_[at], address)) continue;
        const std::string_view instruction = instruction_of(statements_[at]);
        if (computes_address(instruction)) {
          const std::string_view to = operand(instruction, 0);
          if (to.empty() || !std::ranges::all_of(to, is_name_character)) return false;  // {%r1, %r2}: its halves
          if (std::ranges::find(registers, to) == registers.end()) registers.push_back(to);
          continue;
        }
        if (only_loads(instruction)) {
          read = true;
          continue;
        }
        const bool last = operand(instruction, 1) == address;
        const bool passed = instruction.starts_with("st.param.b64") && last && is_of_printing_call(at, function);
        // What "%s" prints goes through the stack.
        const bool listed = instruction.starts_with("st.local.u64") && last && stack_is_only_printed(function);
        if (!passed && !listed) return false;
        read = true;
      }
    }
    return read;
  }

  static bool computes_address(std::string_view instruction) {
    constexpr std::string_view kOperations[] = {"mov.u64",      "mov.b64",   "cvta.global.u64", "cvta.to.global.u64",
                                                "selp.b64",     "add.s64",   "add.u64",         "mad.wide.s32",
                                                "mad.wide.u32", "mad.lo.s64"};
    return std::ranges::any_of(kOperations, [&](std::string_view one) { return instruction.starts_with(one); });
  }

  static bool prints(std::string_view call) {
    const std::string_view name = callee(call);
    return name == "vprintf" || name == "__assertfail";
  }

  /// Whether the function never loads from its stack, nor hands it to a function that does not print.
  bool stack_is_only_printed(Range function) const {
    constexpr std::string_view kElsewhere[] = {"ld.param", "ld.global", "ld.shared", "ld.const"};
    for (std::size_t at = function.begin; at < function.end; ++at) {
      const std::string_view instruction = instruction_of(statements_[at]);
      if (instruction.starts_with("call") && !prints(instruction)) return false;
      const bool elsewhere =
          std::ranges::any_of(kElsewhere, [&](std::string_view load) { return instruction.starts_with(load); });
      if (instruction.starts_with("ld") && !elsewhere) return false;
    }
    return true;
  }

  static bool prepares_call(std::string_view statement) {
    return statement.starts_with(".param") || statement.starts_with(".reg") || statement.starts_with("st.param");
  }

  static std::string_view between(std::string_view a, std::string_view b) {
    return {a.data() + a.size(), static_cast<std::size_t>(b.data() - (a.data() + a.size()))};
  }

  /// The function of "call.uni (retval0), vprintf, (param0, param1)"; empty for other statements.
  static std::string_view callee(std::string_view instruction) {
    if (!instruction.starts_with("call")) return {};
    std::string_view rest =
        trimmed(instruction.substr(std::min(instruction.find_first_of(" \t\n("), instruction.size())));
    if (rest.starts_with('(')) rest = trimmed(rest.substr(std::min(rest.find(')') + 1, rest.size())));
    if (rest.starts_with(',')) rest = trimmed(rest.substr(1));
    return rest.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(rest, is_name_character) - rest.begin()));
  }

  /// Whether the parameter that this st.param sets is one of a call that prints, and of no other: it is declared in the
  /// block of that one call.
  bool is_of_printing_call(std::size_t set, Range function) const {
    std::string_view parameter = operand(instruction_of(statements_[set]), 0);  // "[param0+0]"
    parameter = trimmed(parameter.substr(parameter.starts_with('[') ? 1 : 0));
    parameter = parameter.substr(0, parameter.find_first_of("+] "));
    std::size_t declaration = set;
    const auto declares_it = [&](std::string_view statement) {
      return statement.starts_with(".param") && declared_name(statement) == parameter;
    };
    while (declaration > function.begin && prepares_call(statements_[declaration]) &&
           !declares_it(statements_[declaration]))
      --declaration;
    std::size_t call = set;
    while (call < function.end && prepares_call(statements_[call])) ++call;
    if (call == function.end || !declares_it(statements_[declaration])) return false;
    if (!prints(statements_[call])) return false;
    if (between(statements_[declaration], statements_[call]).find_first_of("{}") != std::string_view::npos)
      return false;
    // Behind it the block ends before anything else is called.
    for (std::size_t next = call + 1; next < function.end; ++next) {
      if (between(statements_[call], statements_[next]).find('}') != std::string_view::npos) return true;
      if (instruction_of(statements_[next]).find("call") != std::string_view::npos) return false;
    }
    return true;
  }

  const std::vector<std::string_view>& statements_;
};

}  // namespace

std::vector<std::string> writable_globals(std::string_view ptx) {
  const std::string text = without_remarks(ptx);
  const std::vector<std::string_view> all = statements(text);
  std::vector<std::string> written;
  for (const std::string_view declaration : all) {
    for (const std::string_view name : declared_names(declared_globals(declaration))) {
      const bool may_be_written = std::ranges::any_of(all, [&](std::string_view statement) {
        return statement.data() != declaration.data() && names(statement, name) && !only_loads(statement);
      });
      if (may_be_written && !ReadOnlyAddresses(all).has(name)) written.emplace_back(name);
    }
  }
  return written;
}

std::vector<std::string> device_variables(std::string_view ptx) {
  const std::string text = without_remarks(ptx);
  std::vector<std::string> found;
  for (const std::string_view statement : statements(text))
    for (const std::string_view space : {".global", ".const"})
      for (const std::string_view name : declared_names(declared_in(space, statement))) found.emplace_back(name);
  return found;
}

}  // namespace evo
