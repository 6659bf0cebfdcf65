#include "evaluator/vgpu/isa/target_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include "evaluator/vgpu/ptx/load_error.h"

namespace evo::vgpu {
namespace {

enum class Suffix {
  none,       ///< Newer GPUs keep it.
  any,        ///< Of architecture-specific targets, sm_90a and such.
  this_one,   ///< Of one architecture alone.
  below_120,  ///< Of architecture-specific targets, but for those of sm_120 and newer.
};

/// A statement whose name is `name` (empty: any) and that has the part `part` (empty: whatever it has), and `also`. It
/// needs `sm`, and not above `last` if that is given.
struct Need {
  std::string_view name;
  std::string_view part;
  int sm;
  Suffix suffix = Suffix::none;
  int last = 0;
  std::string_view also = {};
  std::size_t operands = 0;  ///< Statements of so many operands alone; 0: all.
};

constexpr Need kNeeds[] = {
    // Copies and barriers in memory.
    {"cp", "async", 80},
    {"cp", "bulk", 90},
    {"cp", "reduce", 90},
    {"mbarrier", "", 80},
    {"mbarrier", "try_wait", 90},
    {"mbarrier", "expect_tx", 90},
    {"mbarrier", "complete_tx", 90},
    {"st", "async", 90},
    {"red", "async", 90},
    {"st", "bulk", 100},
    {"st", "async", 100, Suffix::none, 0, "mmio"},
    {"cp", "tile::gather4", 100},
    {"cp", "tile::gather4", 100, Suffix::any, 110, "shared::cluster"},
    {"cp", "tile::gather4", 100, Suffix::any, 110, "prefetch"},
    {"cp", "tile::scatter4", 100, Suffix::any, 110},
    {"cp", "im2col::w", 100, Suffix::any, 110},
    {"cp", "im2col::w::128", 100, Suffix::any, 110},
    {"cp", "cta_group::1", 100, Suffix::any, 110},
    {"cp", "cta_group::2", 100, Suffix::any, 110},
    {"cp", "cp_mask", 100},
    {"tensormap", "replace", 90, Suffix::any},
    {"tensormap", "cp_fenceproxy", 90},
    {"tensormap", "swizzle_atomicity", 100, Suffix::any},
    {"multimem", "", 90},
    // Cache hints.
    {"createpolicy", "", 80},
    {"discard", "", 80},
    {"applypriority", "", 80},
    {"", "L2::cache_hint", 80},
    {"", "L2::256B", 80},
    {"", "L2::evict_last", 80},
    {"", "L2::evict_normal", 80},
    // Clusters and launches.
    {"", "cluster", 90},
    {"", "shared::cluster", 90},
    {"mapa", "", 90},
    {"getctarank", "", 90},
    {"fence", "mbarrier_init", 90},
    {"fence", "async", 90},
    {"griddepcontrol", "", 90},
    {"setmaxnreg", "", 90, Suffix::any},
    {"clusterlaunchcontrol", "", 100},
    {"clusterlaunchcontrol", "multicast::cluster::all", 100, Suffix::any},
    // Warps.
    {"elect", "", 90},
    {"redux", "", 80},
    {"redux", "f32", 100, Suffix::any, 103},
    // Matrices.
    {"ldmatrix", "", 75},
    {"movmatrix", "", 75},
    {"stmatrix", "", 90},
    {"mma", "m16n8k8", 75},
    {"mma", "m16n8k4", 80},
    {"mma", "m16n8k16", 80},
    {"mma", "m16n8k32", 80},
    {"mma", "m16n8k64", 80},
    {"mma", "m16n8k128", 80},
    {"mma", "m16n8k256", 80},
    {"mma", "bf16", 80},
    {"mma", "tf32", 80},
    {"mma", "f64", 80},
    {"mma", "and", 80},
    {"mma", "e4m3", 89},
    {"mma", "e5m2", 89},
    {"wmma", "bf16", 80},
    {"wmma", "tf32", 80},
    {"wmma", "f64", 80},
    {"wgmma", "", 90, Suffix::this_one},
    {"ldmatrix", "m8n16", 100, Suffix::any},
    {"ldmatrix", "m16n16", 100, Suffix::any},
    {"stmatrix", "m16n8", 100, Suffix::any},
    {"mma", "kind::f8f6f4", 100, Suffix::any},
    {"mma", "e3m2", 120, Suffix::any},
    {"mma", "e2m3", 120, Suffix::any},
    {"mma", "e2m1", 120, Suffix::any},
    {"mma", "block_scale", 120, Suffix::any},
    // Loads and stores of 32 bytes.
    {"ld", "v8", 100, Suffix::none, 0, "b32"},
    {"ld", "v8", 100, Suffix::none, 0, "u32"},
    {"ld", "v8", 100, Suffix::none, 0, "s32"},
    {"ld", "v8", 100, Suffix::none, 0, "f32"},
    {"ld", "v4", 100, Suffix::none, 0, "b64"},
    {"ld", "v4", 100, Suffix::none, 0, "u64"},
    {"ld", "v4", 100, Suffix::none, 0, "s64"},
    {"ld", "v4", 100, Suffix::none, 0, "f64"},
    {"st", "v8", 100, Suffix::none, 0, "b32"},
    {"st", "v8", 100, Suffix::none, 0, "u32"},
    {"st", "v8", 100, Suffix::none, 0, "s32"},
    {"st", "v8", 100, Suffix::none, 0, "f32"},
    {"st", "v4", 100, Suffix::none, 0, "b64"},
    {"st", "v4", 100, Suffix::none, 0, "u64"},
    {"st", "v4", 100, Suffix::none, 0, "s64"},
    {"st", "v4", 100, Suffix::none, 0, "f64"},
    {"tcgen05", "", 100, Suffix::below_120},
    // Conversions.
    {"cvt", "bf16", 80},
    {"cvt", "bf16x2", 80},
    {"cvt", "f16x2", 80},
    {"cvt", "tf32", 80},
    {"cvt", "relu", 80},
    {"cvt", "e4m3x2", 89},
    {"cvt", "e5m2x2", 89},
    {"cvt", "e2m1x2", 100, Suffix::any},
    {"cvt", "e2m3x2", 100, Suffix::any},
    {"cvt", "e3m2x2", 100, Suffix::any},
    {"cvt", "ue8m0x2", 100, Suffix::any},
    {"cvt", "rs", 100, Suffix::any, 103},
    // f32 with sources of 16 bits, in pairs, or of three.
    {"add", "f16", 100, Suffix::none, 0, "f32"},
    {"add", "bf16", 100, Suffix::none, 0, "f32"},
    {"sub", "f16", 100, Suffix::none, 0, "f32"},
    {"sub", "bf16", 100, Suffix::none, 0, "f32"},
    {"fma", "f16", 100, Suffix::none, 0, "f32"},
    {"fma", "bf16", 100, Suffix::none, 0, "f32"},
    {"", "f32x2", 100},
    {"min", "f32", 100, Suffix::none, 0, {}, 4},
    {"max", "f32", 100, Suffix::none, 0, {}, 4},
    // Arithmetic of 16 bits.
    {"min", "f16", 80},
    {"min", "f16x2", 80},
    {"max", "f16", 80},
    {"max", "f16x2", 80},
    {"min", "NaN", 80},
    {"max", "NaN", 80},
    {"min", "xorsign", 86},
    {"max", "xorsign", 86},
    {"fma", "relu", 80},
    {"min", "bf16", 80},
    {"min", "bf16x2", 80},
    {"max", "bf16", 80},
    {"max", "bf16x2", 80},
    {"fma", "bf16", 80},
    {"fma", "bf16x2", 80},
    {"neg", "bf16", 80},
    {"neg", "bf16x2", 80},
    {"abs", "bf16", 80},
    {"abs", "bf16x2", 80},
    {"add", "bf16", 90},
    {"add", "bf16x2", 90},
    {"sub", "bf16", 90},
    {"sub", "bf16x2", 90},
    {"mul", "bf16", 90},
    {"mul", "bf16x2", 90},
    {"ex2", "bf16", 90},
    {"ex2", "bf16x2", 90},
    {"tanh", "bf16", 90},
    {"tanh", "bf16x2", 90},
    {"set", "bf16", 90},
    {"set", "bf16x2", 90},
    {"setp", "bf16", 90},
    {"setp", "bf16x2", 90},
    // Atomics.
    {"atom", "bf16", 90},
    {"atom", "bf16x2", 90},
    {"red", "bf16", 90},
    {"red", "bf16x2", 90},
    {"atom", "b128", 90},
    {"atom", "v2", 90},
    {"atom", "v4", 90},
    {"atom", "v8", 90},
    {"red", "v2", 90},
    {"red", "v4", 90},
    {"red", "v8", 90},
};

bool has_part(const ptx::Statement& statement, std::string_view part) {
  return part.empty() ||
         std::ranges::find(statement.parts.begin() + 1, statement.parts.end(), part) != statement.parts.end();
}

struct Target {
  int sm = 0;
  bool specific = false;  ///< sm_90a, sm_100f.
};

std::optional<Target> parse_target(std::string_view text) {
  constexpr std::string_view kPrefix = "sm_";
  if (!text.starts_with(kPrefix)) return std::nullopt;
  text.remove_prefix(kPrefix.size());
  Target target;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), target.sm);
  if (error != std::errc()) return std::nullopt;
  target.specific = end != text.data() + text.size();
  return target;
}

bool meets(const Target& target, const Need& need) {
  if (need.last != 0 && target.sm > need.last) return false;
  if (need.suffix == Suffix::none) return target.sm >= need.sm;
  if (!target.specific || target.sm < need.sm) return false;
  if (need.suffix == Suffix::below_120) return target.sm < 120;
  return need.suffix == Suffix::any || target.sm == need.sm;
}

/// What of kNeeds a target does not have.
std::vector<const Need*> missing(std::string_view target) {
  std::vector<const Need*> needs;
  if (const std::optional<Target> has = parse_target(target))
    for (const Need& need : kNeeds)
      if (!meets(*has, need)) needs.push_back(&need);
  return needs;
}

}  // namespace

void require_target(const ptx::Module& module) {
  const std::vector<const Need*> needs = missing(module.target);
  if (needs.empty()) return;
  for (const ptx::Function& function : module.functions) {
    for (const ptx::Statement& statement : function.body) {
      const Need* most = nullptr;
      for (const Need* need : needs) {
        if ((!need->name.empty() && need->name != statement.parts[0]) || !has_part(statement, need->part) ||
            !has_part(statement, need->also) || (need->operands != 0 && need->operands != statement.operands.size()))
          continue;
        if (most == nullptr || need->sm > most->sm || (need->sm == most->sm && need->suffix > most->suffix))
          most = need;
      }
      if (most == nullptr) continue;
      const std::string_view suffix = most->suffix == Suffix::none ? "" : "a";
      const std::string to = most->last != 0 ? fmt::format(" to sm_{}{}", most->last, suffix) : "";
      throw LoadError(fmt::format("PTX line {}: {} needs sm_{}{}{}, the module is for {}", statement.ptx_line,
                                  statement.opcode(), most->sm, suffix, to, module.target));
    }
  }
}

}  // namespace evo::vgpu
