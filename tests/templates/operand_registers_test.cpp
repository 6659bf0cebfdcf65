// What ptxas makes of operands in registers: no emulation of PTX shows it.
#include <cstring>
#include <set>
#include <span>
#include <utility>

#include "evaluator/compile/cubin.h"
#include "tests/templates/shipped.h"

using namespace evo;
using namespace evo::test;

namespace {

/// Registers that attention's two products read their first operand from.
struct OperandRegisters {
  std::set<int> queries;
  std::set<int> weights;
};

OperandRegisters operand_registers(const std::vector<std::byte>& cubin) {
  constexpr std::size_t kInstructionBytes = 16;
  constexpr std::uint64_t kOpcode = 0xfff, kHalfProduct = 0xdf0, kCodeProduct = 0xdf3;  // HGMMA and QGMMA
  constexpr std::uint64_t kColumnsInnermost = 1ull << 62;  // of the second operand: f16 values lie so, keys do not
  OperandRegisters found;
  std::uint64_t of_scores = 0;  // the form (columns) of the first product of codes
  for (const std::span<const std::byte> code : machine_code(cubin)) {
    for (std::size_t at = 0; at < code.size(); at += kInstructionBytes) {
      std::uint64_t word = 0;
      std::memcpy(&word, code.subspan(at).data(), sizeof word);
      const std::uint64_t form = word >> 48;
      bool scores = false;
      if ((word & kOpcode) == kHalfProduct) {
        scores = (word & kColumnsInnermost) == 0;
      } else if ((word & kOpcode) == kCodeProduct) {
        if (of_scores == 0) of_scores = form;
        scores = form == of_scores;
      } else {
        continue;
      }
      for (int i = 0; i < 4; ++i)
        (scores ? found.queries : found.weights).insert(static_cast<int>(word >> 24 & 0xff) + i);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("queries in registers keep them while weights are multiplied", "[long]") {
  struct Aim {
    const char* task;
    const char* shape;
    const char* mask;
    const char* row_sum = "eighths";
  };
  int programs = 0;
  int halved = 0;
  for (const auto& [task, shape, mask, row_sum] :
       {Aim{"f16_sdpa", "mission", "none"}, Aim{"f16_sdpa", "mission", "causal"}, Aim{"f16_sdpa", "large", "none"},
        Aim{"f16_sdpa", "large", "causal"}, Aim{"fp8_sdpa", "mission", "none"}, Aim{"fp8_sdpa", "d128", "none"},
        Aim{"fp8_sdpa", "mission", "none", "adds"}, Aim{"fp8_sdpa", "mission", "causal", "adds"},
        Aim{"fp8_sdpa", "d128", "none", "adds"}}) {
    const Aimed aimed(task, hopper(), {shape}, {{"mask", std::string(mask)}});
    const Space space = aimed.space();
    const auto depth = std::get<std::int64_t>(aimed.target().timed.front().parameters.at("D"));
    Rng rng(1);
    for (const char* schedule : {"sequential", "early_output"}) {
      for (const std::int64_t keys : {64, 96, 128}) {
        const Genome wish{"wgmma",
                          {{"schedule", std::string(schedule)},
                           {"tile_k", keys},
                           {"q_operand", std::string("registers")},
                           {"warpgroups_q", std::int64_t{2}},
                           {"kv_order", std::string("backward")},
                           {"exponential", std::string("unrounded")},
                           {"row_sum", std::string(row_sum)},
                           {"diagonal", std::string("half")}}};
        const auto genome =
            space.complete(wish, {"schedule", "tile_k", "q_operand", "warpgroups_q", "exponential", "row_sum"}, rng);
        if (!genome) continue;  // The family has a constraint against it.
        // Products of as many columns as the others have cannot be told from them.
        if (std::string_view(row_sum) == "adds" && genome->genes.at("tile_k") == Value(depth)) continue;
        INFO(task << " " << shape << " " << to_text(*genome));
        const Program program = aimed.candidate(space, *genome).programs.front();
        const auto result = nvrtc_or_skip().compile(program.source, "sm_90a", program.max_registers);
        REQUIRE(std::holds_alternative<Binary>(result));
        const OperandRegisters found = operand_registers(std::get<Binary>(result).cubin);
        REQUIRE_FALSE(found.queries.empty());
        REQUIRE_FALSE(found.weights.empty());
        ++programs;
        const auto diagonal = genome->genes.find("diagonal");
        halved += diagonal != genome->genes.end() && diagonal->second == Value(std::string("half")) ? 1 : 0;
        for (const int used : found.queries) CHECK_FALSE(found.weights.contains(used));
      }
    }
  }
  CHECK(programs >= 24);
  CHECK(halved >= 3);
}
