#include "evaluator/vgpu/decode/folding.h"

#include <algorithm>
#include <set>

namespace evo::vgpu {
namespace {

constexpr std::uint32_t kNone = 0xffff'ffffu;
/// Most terms of a sum that is kept as a sum; longer ones count as values of their own.
constexpr std::size_t kTerms = 6;
/// Of the search for values that stay the same; what is written before it is read needs one.
constexpr int kPasses = 4;

bool touches_memory(OpClass op_class) {
  return accesses_memory(op_class) || op_class == OpClass::mbarrier || op_class == OpClass::mbarrier_wait ||
         op_class == OpClass::bulk_copy;
}

bool is_param_load(const PtxInstruction& in) {
  return in.opcode.starts_with("ld.param");
}

bool is_arithmetic(OpClass op_class) {
  return op_class == OpClass::integer || op_class == OpClass::integer_multiply ||
         op_class == OpClass::special_register || op_class == OpClass::convert || op_class == OpClass::bit_search;
}

// Kinds of 32-bit integer operations that ptxas joins.
enum class Join : std::uint8_t { none, sum, logic, shift, product };

bool is_whole_number(std::string_view opcode) {
  return opcode.ends_with(".s32") || opcode.ends_with(".u32") || opcode.ends_with(".b32") || opcode.ends_with(".s64") ||
         opcode.ends_with(".u64") || opcode.ends_with(".b64");
}

Join join_of(const PtxInstruction& in) {
  if (in.guarded || in.writes.size() != 1 || !is_whole_number(in.opcode)) return Join::none;
  if (in.opcode.starts_with("add.cc") || in.opcode.starts_with("add.sat")) return Join::none;
  if (in.opcode.starts_with("add.") || in.opcode.starts_with("sub.")) return Join::sum;
  if (in.opcode.starts_with("and.") || in.opcode.starts_with("or.") || in.opcode.starts_with("xor.") ||
      in.opcode.starts_with("not."))
    return Join::logic;
  if (in.opcode.starts_with("shl.") && in.constant) return Join::shift;
  if (in.opcode.starts_with("mul.lo.") || in.opcode.starts_with("mul.wide.")) return Join::product;
  return Join::none;
}

class Folder {
 public:
  Folder(std::span<const PtxInstruction> instructions, std::uint32_t registers)
      : instructions_(instructions),
        fates_(instructions.size(), Fate::issues),
        writer_(registers, kNone),
        writers_(registers, 0),
        alias_(registers),
        readers_(registers),
        sum_(registers) {}

  std::vector<Fate> run() {
    note_writers();
    note_readers();
    keep_constants();
    fold_addresses();
    join_pairs();
    return std::move(fates_);
  }

 private:
  void note_writers() {
    for (std::uint32_t i = 0; i < instructions_.size(); ++i) {
      for (const std::uint32_t reg : instructions_[i].writes) {
        ++writers_[reg];
        writer_[reg] = i;
      }
    }
  }

  /// The only instruction that writes a register; null when there are others, or it does so for some threads
  /// only.
  const PtxInstruction* only_writer(std::uint32_t reg) const {
    if (writers_[reg] != 1 || instructions_[writer_[reg]].guarded) return nullptr;
    return &instructions_[writer_[reg]];
  }

  /// Moves do not make another value.
  std::uint32_t value_of(std::uint32_t reg) {
    for (int steps = 0; steps < 64; ++steps) {
      const PtxInstruction* writer = only_writer(reg);
      if (writer == nullptr || writer->op_class != OpClass::nothing || writer->reads.size() != 1 ||
          writer->writes.size() != 1)
        break;
      reg = writer->reads[0];
    }
    return reg;
  }

  void note_readers() {
    for (std::uint32_t reg = 0; reg < alias_.size(); ++reg) alias_[reg] = value_of(reg);
    for (std::uint32_t i = 0; i < instructions_.size(); ++i) {
      const PtxInstruction& in = instructions_[i];
      const bool moves = in.op_class == OpClass::nothing && in.reads.size() == 1 && in.writes.size() == 1 &&
                         alias_[in.writes[0]] == alias_[in.reads[0]];
      if (moves) continue;
      for (const std::uint32_t reg : in.reads) readers_[alias_[reg]].push_back(i);
    }
  }

  /// Values that depend on the thread and the parameters alone: computed before the loops.
  void keep_constants() {
    std::vector<char> fixed(writers_.size(), 0);
    for (std::size_t reg = 0; reg < fixed.size(); ++reg) fixed[reg] = writers_[reg] == 0;
    for (int pass = 0; pass < kPasses; ++pass) {
      for (std::uint32_t i = 0; i < instructions_.size(); ++i) {
        const PtxInstruction& in = instructions_[i];
        if (in.guarded || in.writes.empty() || fixed[in.writes[0]]) continue;
        if (in.op_class != OpClass::nothing && !is_arithmetic(in.op_class) && !is_param_load(in)) continue;
        if (!std::ranges::all_of(in.reads, [&](std::uint32_t reg) { return fixed[reg] != 0; })) continue;
        if (!std::ranges::all_of(in.writes, [&](std::uint32_t reg) { return writers_[reg] == 1; })) continue;
        for (const std::uint32_t reg : in.writes) fixed[reg] = 1;
        if (in.op_class != OpClass::nothing) fates_[i] = Fate::once;
      }
    }
  }

  /// Sums that serve as addresses only: a number is the offset of the access, and a sum of the same registers
  /// is computed once.
  void fold_addresses() {
    std::vector<char> address(instructions_.size(), 0);
    for (std::size_t i = instructions_.size(); i-- > 0;) {
      const PtxInstruction& in = instructions_[i];
      if (join_of(in) != Join::sum || in.opcode.starts_with("sub.") || writers_[in.writes[0]] != 1) continue;
      const auto& readers = readers_[in.writes[0]];
      address[i] = !readers.empty() && std::ranges::all_of(readers, [&](std::uint32_t r) {
        return touches_memory(instructions_[r].op_class) || address[r] != 0;
      });
    }
    std::set<std::vector<std::uint32_t>> computed;
    for (std::uint32_t i = 0; i < instructions_.size(); ++i) {
      const PtxInstruction& in = instructions_[i];
      if (join_of(in) != Join::sum || in.opcode.starts_with("sub.") || writers_[in.writes[0]] != 1) continue;
      std::vector<std::uint32_t> terms;
      for (const std::uint32_t reg : in.reads) {
        const auto& known = sum_[alias_[reg]];
        if (known.empty()) {
          terms.push_back(alias_[reg]);
        } else {
          terms.insert(terms.end(), known.begin(), known.end());
        }
      }
      std::sort(terms.begin(), terms.end());
      if (terms.size() > kTerms) continue;
      const bool fresh = computed.insert(terms).second;
      sum_[in.writes[0]] = std::move(terms);
      const bool offset = in.constant && in.reads.size() == 1;
      if (address[i] && (offset || !fresh)) fates_[i] = Fate::folded;
    }
  }

  /// LOP3, IADD3, LEA, IMAD and PRMT: a value that one other instruction uses becomes part of that one.
  void join_pairs() {
    std::vector<char> joined(instructions_.size(), 0);
    for (std::uint32_t i = 0; i < instructions_.size(); ++i) {
      const PtxInstruction& in = instructions_[i];
      const Join first = join_of(in);
      if (first == Join::none || fates_[i] != Fate::issues || joined[i] || writers_[in.writes[0]] != 1) continue;
      const auto& readers = readers_[in.writes[0]];
      if (readers.size() != 1) continue;
      const std::uint32_t reader = readers[0];
      const PtxInstruction& with = instructions_[reader];
      if (reader <= i || with.block != in.block || fates_[reader] != Fate::issues || joined[reader]) continue;
      if (!can_join(in, first, join_of(with))) continue;
      fates_[i] = Fate::folded;
      joined[reader] = 1;
    }
  }

  static bool can_join(const PtxInstruction& in, Join first, Join second) {
    const bool bytes = in.constant && *in.constant % 8 == 0;
    switch (second) {
      case Join::sum:
        return first == Join::sum || first == Join::shift || first == Join::product;
      case Join::logic:
        return first == Join::logic || (first == Join::shift && bytes);
      default:
        return false;
    }
  }

  std::span<const PtxInstruction> instructions_;
  std::vector<Fate> fates_;
  std::vector<std::uint32_t> writer_;                ///< By register: the last.
  std::vector<std::uint32_t> writers_;               ///< How many.
  std::vector<std::uint32_t> alias_;                 ///< The register that it is a copy of, or itself.
  std::vector<std::vector<std::uint32_t>> readers_;  ///< Of the value, moves left out.
  std::vector<std::vector<std::uint32_t>> sum_;      ///< The registers whose sum it is, numbers left out.
};

}  // namespace

std::vector<Fate> fates_of(std::span<const PtxInstruction> instructions, std::uint32_t registers) {
  return Folder(instructions, registers).run();
}

}  // namespace evo::vgpu
