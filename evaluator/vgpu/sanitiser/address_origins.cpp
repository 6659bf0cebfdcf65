#include "evaluator/vgpu/sanitiser/address_origins.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string_view>

#include "evaluator/vgpu/machine/lanes.h"
#include "evaluator/vgpu/machine/launch.h"

namespace evo::vgpu {
namespace {

/// Stands for addresses whose origin is not known.
constexpr std::uint64_t kUnknown = 1ull << 63;
constexpr std::size_t kMostVariables = 63;
constexpr std::size_t kMostNumbers = 0xffff;  ///< Of registers, as TracedInstruction has them.

/// How an instruction's result depends on addresses among its operands.
enum class Rule : std::uint8_t {
  none,        ///< It is no address: a comparison, or what memory holds.
  moves,       ///< It is one of them.
  combines,    ///< It lies in the same variable, if they are in one.
  subtracts,   ///< Likewise; the difference of two addresses is a number.
  multiplies,  ///< The last operand is added to a product.
  mixes,       ///< Nobody knows.
};

std::string_view instruction_name(std::string_view opcode) {
  return opcode.substr(0, opcode.find('.'));
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

Rule rule_of(std::string_view opcode) {
  const std::string_view name = instruction_name(opcode);
  if (is_one_of(name, {"mov", "cvt", "cvta", "selp", "min", "max", "shfl"})) return Rule::moves;
  if (is_one_of(name, {"add", "addc", "and", "or", "xor", "shl", "shr", "shf", "bfe", "bfi", "lop3", "prmt"}))
    return Rule::combines;
  if (name == "sub") return Rule::subtracts;
  if (name == "mad") return Rule::multiplies;
  if (is_one_of(name,
                {"setp", "set", "isspacep", "ld", "ldu", "st", "atom", "red", "ldmatrix", "mbarrier", "vote", "match"}))
    return Rule::none;
  return Rule::mixes;
}

bool is_64_bit(std::string_view opcode) {
  return opcode.ends_with("64");
}

bool is_number(Place place) {
  return (place & kConstantBit) != 0;
}

std::span<const std::uint16_t> sources_of(const Instruction& in, const TracedInstruction& traced) {
  return traced.reads.first(traced.reads.size() - (in.guard != 0 ? 1 : 0));
}

}  // namespace

AddressOrigins::AddressOrigins(const Kernel& kernel) {
  number_variables(kernel);
  if (variables_.empty()) return;
  for (const std::string& opcode : kernel.opcodes) rules_.push_back(static_cast<std::uint8_t>(rule_of(opcode)));
  registers_.assign(kernel.trace.register_count, 0);
  if (registers_.size() > kMostNumbers) registers_.back() = kUnknown;  // Registers beyond share the last number.
  do {
    while (spread(kernel)) continue;
  } while (doubt(kernel));
  number_rows(kernel);
  accesses_.assign(kernel.code.size(), {});
  for (std::uint32_t code = 0; code < kernel.code.size(); ++code) {
    const Source source = address_of(kernel, code);
    if ((source.set & kUnknown) == 0) accesses_[code] = source;
  }
}

/// Hands the origins of operands on to results, once. Whether anything changed.
bool AddressOrigins::spread(const Kernel& kernel) {
  bool changes = false;
  const auto add = [&](Set& to, Set set) {
    changes |= (to | set) != to;
    to |= set;
  };
  for (std::uint32_t code = 0; code < kernel.code.size(); ++code) {
    if (const auto slot = parameter_slot(kernel, code); slot && kernel.trace.traced[code].op_class == OpClass::store)
      add(parameters_[*slot], data_of_parameter(kernel, code));
    const auto& writes = kernel.trace.traced[code].writes;
    const Set result = writes.empty() ? 0 : of_result(kernel, code);
    for (const std::uint16_t number : writes) add(registers_[number], result);
  }
  return changes;
}

/// A register that may also hold something of no known origin, such as a pointer from memory, has none.
bool AddressOrigins::doubt(const Kernel& kernel) {
  bool changes = false;
  const auto lose = [&](Set& set) {
    if (set == 0 || (set & kUnknown) != 0) return;
    set |= kUnknown;
    changes = true;
  };
  for (std::uint32_t code = 0; code < kernel.code.size(); ++code) {
    const auto& traced = kernel.trace.traced[code];
    const auto slot = traced.op_class == OpClass::store ? parameter_slot(kernel, code) : std::nullopt;
    if (slot && data_of_parameter(kernel, code) == 0) lose(parameters_[*slot]);
    const bool is_literal = rule_at(kernel, code) == static_cast<std::uint8_t>(Rule::moves) &&
                            sources_of(kernel.code[code], traced).empty();
    if (traced.writes.empty() || is_literal || of_result(kernel, code) != 0) continue;
    for (const std::uint16_t number : traced.writes) lose(registers_[number]);
  }
  return changes;
}

/// Where a call, inlined or not, keeps an argument or result that this instruction stores or loads.
std::optional<std::uint32_t> AddressOrigins::parameter_slot(const Kernel& kernel, std::uint32_t code) const {
  const OpClass op_class = kernel.trace.traced[code].op_class;
  if (op_class != OpClass::load && op_class != OpClass::store) return std::nullopt;
  const std::string_view opcode = kernel.opcode_at(code);
  const bool loads = opcode.starts_with("ld.param.");
  if ((!loads && !opcode.starts_with("st.param.")) || opcode.find(".v") != std::string_view::npos) return std::nullopt;
  const Instruction& in = kernel.code[code];
  const Place base = in.op[loads ? 1 : 0];
  if (of_constant(base) == 0) return std::nullopt;
  return kernel.constants[base & ~kConstantBit] + static_cast<std::uint32_t>(in.immediate);
}

AddressOrigins::Set AddressOrigins::data_of_parameter(const Kernel& kernel, std::uint32_t code) const {
  const Instruction& in = kernel.code[code];
  if (is_number(in.op[1])) return of_constant(in.op[1]);
  const auto reads = sources_of(in, kernel.trace.traced[code]);
  return reads.empty() ? 0 : registers_[reads[0]];
}

/// None where every variable is alone in its space: then it is left by leaving the space.
void AddressOrigins::number_variables(const Kernel& kernel) {
  const auto is_same = [](const VariableAddress& a, const VariableAddress& b) {
    return a.space == b.space && a.begin == b.begin && a.end == b.end;
  };
  std::size_t in_shared = kernel.shared_variables.size(), in_local = 0;
  if (!kernel.dynamic_smem_name.empty()) ++in_shared;
  if (kernel.reserved_smem_bytes > 0) ++in_shared;
  for (const VariableAddress& address : kernel.variable_addresses) {
    const auto known = std::ranges::find_if(variables_, [&](const auto& one) { return is_same(one, address); });
    const auto number = static_cast<std::size_t>(known - variables_.begin());
    if (known == variables_.end()) {
      variables_.push_back(address);
      if (address.space == ptx::Space::local) ++in_local;
    }
    constants_[address.place] = number < kMostVariables ? 1ull << number : kUnknown;
  }
  if (in_shared < 2 && in_local < 2) variables_.clear();
}

AddressOrigins::Set AddressOrigins::of_constant(Place place) const {
  if (!is_number(place)) return 0;
  const auto found = constants_.find(place);
  return found != constants_.end() ? found->second : 0;
}

AddressOrigins::Set AddressOrigins::of_result(const Kernel& kernel, std::uint32_t code) const {
  const Instruction& in = kernel.code[code];
  const auto rule = static_cast<Rule>(rule_at(kernel, code));
  if (rule == Rule::none) {
    const auto slot = parameter_slot(kernel, code);
    const auto stored = slot ? parameters_.find(*slot) : parameters_.end();
    return stored != parameters_.end() && kernel.trace.traced[code].op_class == OpClass::load ? stored->second : 0;
  }
  const std::string_view opcode = kernel.opcode_at(code);
  const std::string_view name = instruction_name(opcode);
  auto reads = sources_of(in, kernel.trace.traced[code]);
  // Of selections and shuffles only these operands are values.
  std::span<const Place> places = std::span(in.op).first(4);
  if (name == "selp") {
    if (!reads.empty()) reads = reads.first(reads.size() - 1);
    places = std::span(in.op).subspan(1, 2);
  } else if (name == "shfl") {
    reads = reads.first(is_number(in.op[2]) ? 0 : std::min<std::size_t>(reads.size(), 1));
    places = std::span(in.op).subspan(2, 1);
  }
  Set all = 0;
  bool alike = true, every = true;
  const auto add = [&](Set set) {
    if (set == 0) return;
    alike &= all == 0 || all == set;
    all |= set;
  };
  for (const std::uint16_t number : reads) {
    add(registers_[number]);
    every &= registers_[number] != 0;
  }
  for (const Place place : places) add(of_constant(place));
  if (all == 0) return 0;
  if (rule == Rule::moves) return every ? all : all | kUnknown;
  if (rule == Rule::mixes) return kUnknown;
  if (rule == Rule::combines) return alike ? all : kUnknown;
  // Operand by operand: 64-bit registers have two numbers.
  const bool widens = opcode.find(".wide.") != std::string_view::npos;
  const std::size_t operands = rule == Rule::multiplies ? 3 : 2;
  std::array<Set, 3> of{};
  std::size_t next = 0;
  for (std::size_t i = 0; i < operands; ++i) {
    const std::size_t words = (widens ? i == 2 : is_64_bit(opcode)) ? 2 : 1;
    if (is_number(in.op[1 + i])) {
      of[i] = of_constant(in.op[1 + i]);
    } else if (next < reads.size()) {
      of[i] = registers_[reads[next]];
      next += words;
    }
  }
  if (rule == Rule::multiplies) return (of[0] | of[1]) == 0 ? of[2] : kUnknown;
  if (of[1] == 0) return of[0];
  return of[0] == of[1] && std::popcount(of[0]) == 1 ? 0 : kUnknown;
}

AddressOrigins::Source AddressOrigins::address_of(const Kernel& kernel, std::uint32_t code) const {
  const Instruction& in = kernel.code[code];
  const TracedInstruction& traced = kernel.trace.traced[code];
  if (!accesses_memory(traced.op_class)) return {};
  const std::string_view name = instruction_name(kernel.opcode_at(code));
  const auto reads = sources_of(in, traced);
  const bool loads = is_one_of(name, {"ld", "ldu", "ldmatrix"});  // All that they read is the address.
  const bool first = is_one_of(name, {"st", "stmatrix", "cp"});
  if (!loads && !first && !is_one_of(name, {"atom", "red"})) return {};
  const auto places = loads ? std::span(in.op) : std::span(in.op).subspan(first ? 0 : 1, 1);
  for (const Place place : places)
    if (const Set set = of_constant(place); set != 0) return {kNowhere, set};
  const bool in_register = !reads.empty() && (loads || !is_number(places[0]));
  return in_register ? Source{reads[0], registers_[reads[0]]} : Source{};
}

void AddressOrigins::number_rows(const Kernel& kernel) {
  row_of_.assign(registers_.size(), kNowhere);
  for (std::size_t number = 0; number < registers_.size(); ++number)
    if (std::popcount(registers_[number]) > 1 && (registers_[number] & kUnknown) == 0) row_of_[number] = row_count_++;
  if (row_count_ == 0) return;
  followed_.assign(kernel.code.size(), false);
  for (std::uint32_t code = 0; code < kernel.code.size(); ++code)
    followed_[code] = std::ranges::any_of(kernel.trace.traced[code].writes,
                                          [&](std::uint16_t number) { return row_of_[number] != kNowhere; });
}

std::uint8_t AddressOrigins::variable_of(const Source& source, std::size_t lane, const Rows& rows) const {
  const std::uint32_t row = source.number != kNowhere ? row_of_[source.number] : kNowhere;
  if (row != kNowhere) return row < rows.size() ? rows[row][lane] : std::uint8_t{0};
  return static_cast<std::uint8_t>(std::popcount(source.set) == 1 ? std::countr_zero(source.set) + 1 : 0);
}

/// The operands that may bring an address to an instruction's result.
std::vector<AddressOrigins::Choice> AddressOrigins::choices(const Warp& warp, const Instruction& in) const {
  const Kernel& kernel = *warp.launch->kernel;
  const std::uint32_t code = kernel.index_of(in);
  const std::string_view opcode = kernel.opcode_at(code);
  const auto reads = sources_of(in, kernel.trace.traced[code]);
  std::vector<Choice> found;
  if (instruction_name(opcode) != "selp") {
    for (const std::uint16_t number : reads)
      if (registers_[number] != 0) found.push_back({{number, registers_[number]}});
    for (const Place place : std::span(in.op).first(4))
      if (const Set set = of_constant(place); set != 0) found.push_back({{kNowhere, set}});
    return found;
  }
  const std::uint32_t chosen = get_predicate(warp, in.op[3]);
  std::size_t next = 0;
  for (const std::size_t i : {1, 2}) {
    const std::uint32_t lanes = i == 1 ? chosen : ~chosen;
    if (is_number(in.op[i])) {
      found.push_back({{kNowhere, of_constant(in.op[i])}, lanes});
    } else if (next < reads.size()) {
      found.push_back({{reads[next], registers_[reads[next]]}, lanes});
      next += is_64_bit(opcode) ? 2 : 1;
    }
  }
  return found;
}

void AddressOrigins::follow(const Warp& warp, const Instruction& in, std::uint32_t mask, Rows& rows) const {
  rows.resize(row_count_);
  const TracedInstruction& traced = warp.launch->kernel->trace.traced[warp.launch->kernel->index_of(in)];
  const std::vector<Choice> choices = this->choices(warp, in);
  const bool exchanges = traced.op_class == OpClass::shuffle || traced.op_class == OpClass::load;
  for (const std::size_t lane : lanes_of(mask)) {
    std::uint8_t variable = 0;
    bool known = !exchanges;
    for (const auto& [source, lanes] : choices) {
      if ((lanes >> lane & 1u) == 0) continue;
      const std::uint8_t one = variable_of(source, lane, rows);
      known &= one != 0 && (variable == 0 || variable == one);
      variable = one;
    }
    for (const std::uint16_t number : traced.writes)
      if (row_of_[number] != kNowhere) rows[row_of_[number]][lane] = known ? variable : std::uint8_t{0};
  }
}

const VariableAddress* AddressOrigins::left_by(std::uint32_t code, int lane, const Rows& rows, bool local,
                                               std::uint32_t offset, std::uint32_t bytes) const {
  const Source& source = accesses_[code];
  const std::uint8_t only = variable_of(source, static_cast<std::size_t>(lane), rows);
  const VariableAddress* left = nullptr;
  for (Set set = only != 0 ? 1ull << (only - 1) : source.set; set != 0; set &= set - 1) {
    const VariableAddress& variable = variables_[static_cast<std::size_t>(std::countr_zero(set))];
    if ((variable.space == ptx::Space::local) != local) return nullptr;
    if (offset >= variable.begin && (variable.end == kNowhere || offset + bytes <= variable.end)) return nullptr;
    left = &variable;
  }
  return left;
}

}  // namespace evo::vgpu
