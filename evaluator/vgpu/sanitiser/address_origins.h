#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "evaluator/vgpu/machine/kernel.h"
#include "evaluator/vgpu/machine/warp.h"

namespace evo::vgpu {

/// From which variables of shared and local memory the addresses of a kernel's accesses come. PTX names a variable
/// where its address is taken; sums, masks, selections and moves keep it. What is loaded, or computed from the
/// addresses of two variables, has no known origin. Most registers hold addresses in one variable. Those that may hold
/// them in several (a buffer chosen by a condition) are followed lane by lane while the kernel runs.
class AddressOrigins {
 public:
  /// Of registers with several variables: a lane's variable, counted from 1; 0: unknown.
  using Rows = std::vector<std::array<std::uint8_t, 32>>;

  explicit AddressOrigins(const Kernel& kernel);

  /// Whether an instruction's result may lie in several variables: then follow() goes before it.
  bool follows(std::uint32_t code) const { return !followed_.empty() && followed_[code]; }
  void follow(const Warp& warp, const Instruction& in, std::uint32_t mask, Rows& rows) const;

  /// Whether the origin of the instruction's address is known.
  bool knows(std::uint32_t code) const { return !accesses_.empty() && accesses_[code].set != 0; }
  /// The variable that a lane's access has left; null when it lies in one that its address comes from.
  const VariableAddress* left_by(std::uint32_t code, int lane, const Rows& rows, bool local, std::uint32_t offset,
                                 std::uint32_t bytes) const;

 private:
  using Set = std::uint64_t;  ///< Of variables, a bit each.
  /// An operand: a register, or a constant.
  struct Source {
    std::uint32_t number = kNowhere;  ///< Of a register.
    Set set = 0;
  };
  /// A source that decides the result of these lanes.
  struct Choice {
    Source source;
    std::uint32_t lanes = kAllLanes;
  };

  void number_variables(const Kernel& kernel);
  void number_rows(const Kernel& kernel);
  bool spread(const Kernel& kernel);
  bool doubt(const Kernel& kernel);
  std::optional<std::uint32_t> parameter_slot(const Kernel& kernel, std::uint32_t code) const;
  Set data_of_parameter(const Kernel& kernel, std::uint32_t code) const;
  Set of_constant(Place place) const;
  std::uint8_t rule_at(const Kernel& kernel, std::uint32_t code) const { return rules_[kernel.opcode_of[code]]; }
  Set of_result(const Kernel& kernel, std::uint32_t code) const;
  /// The operand with an instruction's address; empty where it is none that is looked at.
  Source address_of(const Kernel& kernel, std::uint32_t code) const;
  std::vector<Choice> choices(const Warp& warp, const Instruction& in) const;
  std::uint8_t variable_of(const Source& source, std::size_t lane, const Rows& rows) const;

  std::vector<VariableAddress> variables_;
  std::unordered_map<Place, Set> constants_;
  std::vector<std::uint8_t> rules_;                    ///< By opcode: how a result depends on its operands.
  std::vector<Set> registers_;                         ///< By number.
  std::unordered_map<std::uint32_t, Set> parameters_;  ///< Of calls, by offset in local memory.
  std::vector<std::uint32_t> row_of_;                  ///< Likewise; kNowhere: of one variable, or none.
  std::uint32_t row_count_ = 0;
  std::vector<bool> followed_;    ///< By instruction; empty: none is.
  std::vector<Source> accesses_;  ///< By instruction. Empty: no variable has a neighbour.
};

}  // namespace evo::vgpu
