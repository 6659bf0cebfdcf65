#include "evaluator/vgpu/machine/access.h"

#include <fmt/core.h>

#include <algorithm>

#include "evaluator/vgpu/machine/cluster.h"

namespace evo::vgpu {
namespace {

struct Space {
  std::byte* host = nullptr;  ///< Of `begin`.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string name;
};

Space shared_space(Block& block, std::uint64_t window) {
  return {block.shared.data() + kReservedSmemBytes, window + kReservedSmemBytes, window + block.shared.size(),
          "shared memory"};
}

/// Shared memory of the own block or, where addresses carry a rank, of another of the cluster. One that has
/// ended, or does not exist, has no bytes.
Space cluster_space(const Warp& warp, std::uint64_t address, std::uint64_t window) {
  const std::uint64_t rank = (address - window) >> kRankShift;
  if (rank == 0) return shared_space(*warp.block, window);
  const std::uint64_t begin = window + (rank << kRankShift);
  const auto& blocks = warp.block->cluster->blocks;
  if (rank > blocks.size()) return {nullptr, begin, begin, "the shared memory of a block that is not in the cluster"};
  Block& block = *blocks[rank - 1];
  if (block.live == 0) return {nullptr, begin, begin, "the shared memory of a block that has ended"};
  Space space = shared_space(block, begin);
  space.name = fmt::format("shared memory of block ({}, {}, {})", block.index[0], block.index[1], block.index[2]);
  return space;
}

Space local_space(const Warp& warp, int lane, std::uint64_t window) {
  const std::uint64_t bytes = warp.launch->kernel->local_bytes;
  return {warp.local + bytes * static_cast<std::uint64_t>(lane), window, window + bytes, "local memory"};
}

Space parameter_space(const Warp& warp, std::uint64_t window) {
  auto& parameters = warp.launch->parameters;
  return {parameters.data(), window, window + parameters.size(), "the kernel's parameters"};
}

bool in_window(std::uint64_t address, std::uint64_t window) {
  return address - window < kWindowBytes;
}

std::string what_of(AccessMode mode, std::uint32_t bytes) {
  return fmt::format("{} {} byte{}", mode.writes ? "writes" : "reads", bytes, bytes == 1 ? "" : "s");
}

/// The space of one lane's access; nothing for global memory.
bool other_space(const Warp& warp, AccessMode mode, int lane, std::uint64_t address, Space& space) {
  switch (mode.where) {
    case Where::shared:
      space = shared_space(*warp.block, 0);
      return true;
    case Where::cluster:
      space = cluster_space(warp, address, 0);
      return true;
    case Where::local:
      space = local_space(warp, lane, 0);
      return true;
    case Where::parameter:
      space = parameter_space(warp, 0);
      return true;
    case Where::global:
      return false;
    case Where::generic:
      break;
  }
  if (in_window(address, kSharedWindow)) {
    space = cluster_space(warp, address, kSharedWindow);
  } else if (in_window(address, kLocalWindow)) {
    space = local_space(warp, lane, kLocalWindow);
  } else if (in_window(address, kParameterWindow)) {
    space = parameter_space(warp, kParameterWindow);
  } else {
    return false;
  }
  return true;
}

std::byte* resolve_other(Warp& warp, const Instruction& in, AccessMode mode, std::uint32_t bytes, int lane,
                         std::uint64_t address, const Space& space) {
  if (address < space.begin || address >= space.end || bytes > space.end - address) {
    warp.fail(in,
              fmt::format("{} at byte {} of {}, which has {} bytes", what_of(mode, bytes),
                          static_cast<std::int64_t>(address - space.begin), space.name, space.end - space.begin),
              lane, FindingKind::bad_access);
    return nullptr;
  }
  return space.host + (address - space.begin);
}

std::byte* resolve_global(Warp& warp, const Instruction& in, AccessMode mode, std::uint32_t bytes, int lane,
                          std::uint64_t address) {
  const GlobalMemory& memory = *warp.launch->memory;
  const Allocation* buffer = memory.find(address);
  if (buffer == nullptr || bytes > buffer->end - address) {
    warp.fail(in, fmt::format("{} at {}", what_of(mode, bytes), describe_address(memory, address)), lane,
              FindingKind::bad_access);
    return nullptr;
  }
  if (mode.writes && buffer->read_only) {
    warp.fail(in, fmt::format("{} at {}: constant memory", what_of(mode, bytes), describe_address(memory, address)),
              lane, FindingKind::bad_access);
    return nullptr;
  }
  if (mode.writes && buffer->closed) {
    warp.fail(in,
              fmt::format("{} at {}, which is no buffer of this launch", what_of(mode, bytes),
                          describe_address(memory, address)),
              lane, FindingKind::bad_access);
    return nullptr;
  }
  warp.launch->caches[in.cache] = buffer;
  return buffer->host + (address - buffer->begin);
}

}  // namespace

std::byte* resolve_lane(Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint64_t address,
                        std::uint32_t bytes) {
  Space space;
  return other_space(warp, mode, lane, address, space) ? resolve_other(warp, in, mode, bytes, lane, address, space)
                                                       : resolve_global(warp, in, mode, bytes, lane, address);
}

bool resolve_lane_by_lane(Warp& warp, const Instruction& in, std::uint32_t mask, AccessMode mode, std::uint32_t bytes,
                          Touched& touched) {
  std::byte* any = nullptr;
  for (const int lane : lanes_of(mask)) {
    const std::uint64_t address = touched.address[lane];
    Space space;
    const bool other = other_space(warp, mode, lane, address, space);
    touched.at[lane] = other ? resolve_other(warp, in, mode, bytes, lane, address, space)
                             : resolve_global(warp, in, mode, bytes, lane, address);
    if (touched.at[lane] == nullptr) return false;
    if (address % bytes != 0) {
      const std::string place = other ? fmt::format("byte {} of {}", address - space.begin, space.name)
                                      : describe_address(*warp.launch->memory, address);
      warp.fail(in, fmt::format("{} at a misaligned address: {}", what_of(mode, bytes), place), lane,
                FindingKind::bad_access);
      return false;
    }
    any = touched.at[lane];
  }
  for (const int lane : lanes_of(~mask)) touched.at[lane] = any;
  return true;
}

std::optional<SharedPlace> shared_place(Warp& warp, const Instruction& in, int lane, AccessMode mode,
                                        std::uint64_t address, std::uint32_t bytes, std::uint32_t alignment) {
  if (resolve_lane(warp, in, lane, mode, address, bytes) == nullptr) return std::nullopt;
  if (mode.where == Where::generic) {
    if (address - kSharedWindow >= kWindowBytes) {
      warp.fail(in, fmt::format("{:#x} is not in shared memory", address), lane);
      return std::nullopt;
    }
    address -= kSharedWindow;
  }
  if (address % alignment != 0) {
    warp.fail(in,
              fmt::format("byte {} of shared memory is not aligned to {} bytes", address & ((1u << kRankShift) - 1),
                          alignment),
              lane);
    return std::nullopt;
  }
  const auto rank = static_cast<std::uint32_t>(address >> kRankShift);
  Block* block = rank == 0 ? warp.block : warp.block->cluster->blocks[rank - 1].get();
  return SharedPlace{block, static_cast<std::uint32_t>(address) & ((1u << kRankShift) - 1)};
}

std::string describe_place(const Warp& warp, AccessMode mode, std::uint64_t address) {
  const auto in_shared = [&](std::uint64_t offset) {
    offset &= (1u << kRankShift) - 1;
    const Kernel& kernel = *warp.launch->kernel;
    for (const SharedVariable& variable : kernel.shared_variables) {
      if (offset < variable.address || offset - variable.address >= variable.bytes) continue;
      return fmt::format("byte {} of '{}' (shared memory, {} bytes)", offset - variable.address, variable.name,
                         variable.bytes);
    }
    const std::uint64_t dynamic = kReservedSmemBytes + kernel.static_smem_bytes;
    if (offset < dynamic) return fmt::format("byte {} of shared memory", offset - kReservedSmemBytes);
    return fmt::format("byte {} of {} (dynamic shared memory, {} bytes)", offset - dynamic,
                       kernel.dynamic_smem_name.empty() ? "it" : fmt::format("'{}'", kernel.dynamic_smem_name),
                       warp.launch->dynamic_smem_bytes);
  };
  const bool generic = mode.where == Where::generic;
  if (mode.where == Where::shared || mode.where == Where::cluster) return in_shared(address);
  if (generic && in_window(address, kSharedWindow)) return in_shared(address - kSharedWindow);
  if (mode.where == Where::local) return fmt::format("byte {} of local memory", address);
  if (generic && in_window(address, kLocalWindow))
    return fmt::format("byte {} of local memory", address - kLocalWindow);
  return describe_address(*warp.launch->memory, address);
}

// ---- What the cost model asks

namespace {

/// Passes through 32 banks of 4 bytes. Wide accesses go in groups of lanes that together ask for 128 bytes;
/// in a group a bank serves one word at a time, to everybody who wants that word.
std::uint32_t wavefronts(std::uint32_t mask, std::uint32_t bytes, const std::uint64_t* address) {
  const std::uint32_t unit = std::max(bytes, 4u), units = 128 / unit;  // An aligned unit has all of its banks.
  const int lanes_in_group = static_cast<int>(units);
  std::uint32_t total = 0;
  for (int first = 0; first < 32; first += lanes_in_group) {
    std::uint64_t wanted[32][32];
    std::uint32_t count[32] = {};
    std::uint32_t worst = 0;
    for (int lane = first; lane < first + lanes_in_group; ++lane) {
      if ((mask >> lane & 1u) == 0) continue;
      const std::uint64_t word = address[lane] / unit;
      const std::uint32_t bank = word % units;
      if (std::find(wanted[bank], wanted[bank] + count[bank], word) != wanted[bank] + count[bank]) continue;
      wanted[bank][count[bank]++] = word;
      worst = std::max(worst, count[bank]);
    }
    total += worst;
  }
  return total;
}

/// The same, remembered for lanes that lie as they did when the instruction was executed last: the banks are alike.
std::uint32_t remembered_wavefronts(Warp& warp, const Instruction& in, std::uint32_t mask, std::uint32_t bytes,
                                    const std::uint64_t* address) {
  if (warp.launch->patterns.empty()) return wavefronts(mask, bytes, address);
  SharedPattern& pattern = warp.launch->patterns[in.cache];
  std::array<std::uint32_t, 32> from_first;
  for (std::size_t lane = 0; lane < 32; ++lane)
    from_first[lane] = static_cast<std::uint32_t>(address[lane]) - static_cast<std::uint32_t>(address[0]);
  from_first[0] = static_cast<std::uint32_t>(address[0]) % 4;
  if (pattern.mask != mask || pattern.from_first != from_first)
    pattern = {from_first, mask, wavefronts(mask, bytes, address)};
  return pattern.passes;
}

void add_sectors(Warp& warp, std::uint32_t mask, std::uint32_t bytes, bool local, const std::uint64_t* address) {
  auto& sectors = warp.launch->sectors;
  for (const std::uint32_t lane : lanes_of(mask)) {
    if (local) {
      // Local memory is interleaved: a word of all lanes is 128 bytes in a row.
      for (std::uint64_t word = address[lane] / 4; word <= (address[lane] + bytes - 1) / 4; ++word) {
        sectors.push_back((std::uint64_t{warp.index} << 40) + word * 4 + lane / 8);
      }
      continue;
    }
    for (std::uint64_t sector = address[lane] / 32; sector <= (address[lane] + bytes - 1) / 32; ++sector) {
      if (sectors.empty() || sectors.back() != sector) sectors.push_back(sector);
    }
  }
  if (std::ranges::is_sorted(sectors)) return;  // Mostly.
  std::sort(sectors.begin(), sectors.end());
  sectors.erase(std::unique(sectors.begin(), sectors.end()), sectors.end());
}

/// Own shared memory unless the address names another block of the cluster.
TracedSpace shared_space(const Warp& warp, std::uint64_t address) {
  const auto rank = static_cast<std::uint32_t>(address & 0xffff'ffffu) >> kRankShift;
  return rank == 0 || rank == warp.block->rank + 1 ? TracedSpace::shared : TracedSpace::remote_shared;
}

bool is_shared(TracedSpace space) {
  return space == TracedSpace::shared || space == TracedSpace::remote_shared;
}

TracedSpace traced_space(const Warp& warp, AccessMode mode, std::uint64_t address) {
  switch (mode.where) {
    case Where::shared:
      return TracedSpace::shared;
    case Where::cluster:
      return shared_space(warp, address);
    case Where::local:
      return TracedSpace::local;
    case Where::parameter:
      return TracedSpace::parameter;
    case Where::global:
      return TracedSpace::global;
    case Where::generic:
      break;
  }
  if (in_window(address, kSharedWindow)) return shared_space(warp, address);
  if (in_window(address, kLocalWindow)) return TracedSpace::local;
  if (in_window(address, kParameterWindow)) return TracedSpace::parameter;
  return TracedSpace::global;
}

void count_access(Warp& warp, const Instruction& in, TracedSpace space, std::uint32_t passes) {
  const Launch& launch = *warp.launch;
  WarpDemand& demand = warp.demand;
  const bool remote = space == TracedSpace::remote_shared;
  if (!remote) demand.shared_passes += passes;
  if (space == TracedSpace::shared) return;
  std::size_t moved = remote ? 4 * passes : launch.sectors.size();  // A pass is 128 bytes.
  const OpClass op_class = launch.kernel->trace.traced[launch.kernel->index_of(in)].op_class;
  if (!remote && op_class == OpClass::load) moved -= warp.block->l1.load(launch.sectors);
  demand.sectors += moved;
  demand.waited += moved > 0 ? kTrip : 0;
}

void trace_access(Warp& warp, std::uint32_t mask, std::uint32_t bytes, std::uint64_t address, TracedSpace space,
                  std::uint32_t passes) {
  MemoryAccess& access = warp.launch->access;
  if (is_shared(space)) {
    // Where global memory takes part, too (cp.async), only the wavefronts of the shared side are added.
    access.wavefronts += passes;
    if (access.space != TracedSpace::none) return;
  } else if (space == TracedSpace::global || space == TracedSpace::local) {
    access.sectors = warp.launch->sectors;
    if (space == TracedSpace::global) {
      const Allocation* buffer = warp.launch->memory->find(address);
      access.space = buffer != nullptr && buffer->read_only ? TracedSpace::constant : space;
    }
  }
  if (access.space != TracedSpace::constant) access.space = space;
  access.lanes = mask;
  access.bytes_per_lane = bytes;
}

}  // namespace

void count_contiguous(Warp& warp, const Instruction& in, AccessMode mode, std::uint64_t first, std::uint32_t bytes) {
  if (mode.where == Where::shared) return count_access(warp, in, TracedSpace::shared, bytes / 4);
  auto& sectors = warp.launch->sectors;
  sectors.clear();
  for (std::uint64_t sector = first / 32; sector <= (first + 32 * bytes - 1) / 32; ++sector) sectors.push_back(sector);
  count_access(warp, in, TracedSpace::global, 0);
}

void note_access(Warp& warp, const Instruction& in, std::uint32_t mask, AccessMode mode, std::uint32_t bytes,
                 const Touched& touched) {
  const Launch& launch = *warp.launch;
  const std::uint64_t address = touched.address[std::countr_zero(mask)];
  const TracedSpace space = traced_space(warp, mode, address);
  std::uint32_t passes = 0;
  warp.launch->sectors.clear();
  if (is_shared(space)) {
    passes = remembered_wavefronts(warp, in, mask, bytes, touched.address);
  } else if (space == TracedSpace::global || space == TracedSpace::local) {
    add_sectors(warp, mask, bytes, space == TracedSpace::local, touched.address);
  }
  if (!launch.code_parts.empty()) count_access(warp, in, space, passes);
  if (launch.tracer != nullptr) trace_access(warp, mask, bytes, address, space, passes);
}

void note_texels(Warp& warp, const Instruction& in, std::span<const std::uint32_t> masks, std::uint32_t bytes,
                 std::span<const Touched> touched) {
  const Launch& launch = *warp.launch;
  warp.launch->sectors.clear();
  std::uint32_t lanes = 0;
  for (std::size_t i = 0; i < masks.size(); ++i) {
    if (masks[i] != 0) add_sectors(warp, masks[i], bytes, false, touched[i].address);
    lanes |= masks[i];
  }
  if (lanes == 0) return;
  if (!launch.code_parts.empty()) count_access(warp, in, TracedSpace::global, 0);
  if (launch.tracer != nullptr) trace_access(warp, lanes, bytes, 0, TracedSpace::global, 0);
}

}  // namespace evo::vgpu
