#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "evaluator/vgpu/machine/access_mode.h"
#include "evaluator/vgpu/machine/instruction.h"
#include "evaluator/vgpu/machine/trace.h"

/// Which block has waited for what another one wrote in global memory.
namespace evo::vgpu {

struct Launch;
struct Warp;

/// The barrier of a cooperative launch: a size and its word (cooperative_groups/details/driver_abi.h), with room.
constexpr std::size_t kGridWorkspaceBytes = 64;

/// Kept by a launch of a kernel that waits for other blocks. Instructions report to it once their addresses are known.
class WaitLog {
 public:
  explicit WaitLog(const Launch& launch);

  void access(Warp& warp, const Instruction& in, std::uint32_t mask, std::uint32_t bytes, const Touched& touched);
  /// The block has ended: its waits are kept.
  void end_warp(Warp& warp);
  /// "at the grid's barrier, to which block (1, 0, 0) never comes" if the address is of that barrier; else empty.
  std::string barrier_at(const Launch& launch, std::uint64_t address) const;

  const std::vector<Release>& releases() const { return releases_; }
  const std::vector<std::vector<Wait>>& waits() const { return waits_; }  ///< By block.
  bool empty() const { return waiting_ == 0; }

 private:
  struct Written {
    std::uint64_t address = 0;
    std::uint32_t bytes = 0;
    std::array<std::byte, 16> before{};
  };
  void settle();
  void look(Warp& warp, const Instruction& in, std::uint32_t mask, std::uint32_t bytes, const Touched& touched);
  void write(Warp& warp, bool atomic, std::uint32_t mask, std::uint32_t bytes, const Touched& touched);

  const Launch* launch_;
  std::vector<Release> releases_;
  std::vector<std::vector<Wait>> waits_;
  std::uint64_t waiting_ = 0;                              ///< Waits for another block.
  std::unordered_map<std::uint64_t, std::uint32_t> last_;  ///< By word: the write whose value it has.
  std::vector<std::uint32_t> at_grid_barrier_;             ///< How often each block has come there.
  Release pending_;                                        ///< The latest write, and what was in its place.
  bool pending_atomic_ = false;
  std::vector<Written> pending_words_;
};

}  // namespace evo::vgpu
