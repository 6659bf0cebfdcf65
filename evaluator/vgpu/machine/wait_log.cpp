#include "evaluator/vgpu/machine/wait_log.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "evaluator/vgpu/machine/block.h"
#include "evaluator/vgpu/machine/memory.h"

namespace evo::vgpu {
namespace {

/// Later writes are not kept: a kernel that publishes so often does not wait for each.
constexpr std::size_t kMostReleases = 1u << 22;
constexpr std::uint64_t kWord = 4;

bool within(std::uint64_t address, std::uint64_t begin, std::uint64_t bytes) {
  return begin != 0 && address >= begin && address - begin < bytes;
}

template <class Do>
void for_each_word(std::uint64_t address, std::uint32_t bytes, Do&& what) {
  for (std::uint64_t word = address / kWord; word * kWord < address + bytes; ++word) what(word);
}

}  // namespace

WaitLog::WaitLog(const Launch& launch) : launch_(&launch) {
  const std::size_t blocks = std::size_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  waits_.resize(blocks);
  at_grid_barrier_.resize(blocks, 0);
}

void WaitLog::access(Warp& warp, const Instruction& in, std::uint32_t mask, std::uint32_t bytes,
                     const Touched& touched) {
  settle();
  const Kernel& kernel = *launch_->kernel;
  const TracedInstruction& traced = kernel.trace.traced[kernel.index_of(in)];
  if (!traced.strong || launch_->memory->find(touched.address[std::countr_zero(mask)]) == nullptr) {
    if (traced.polls) warp.polls.own = true;  // Shared memory.
    return;
  }
  if (traced.polls) look(warp, in, mask, bytes, touched);
  if (traced.op_class != OpClass::load) write(warp, traced.op_class != OpClass::store, mask, bytes, touched);
}

/// What the write before has changed is there by now.
void WaitLog::settle() {
  std::uint32_t number = kNoRelease;
  for (const Written& written : pending_words_) {
    const Allocation* buffer = launch_->memory->find(written.address);
    if (buffer == nullptr || buffer->end - written.address < written.bytes) continue;
    const std::byte* now = buffer->host + (written.address - buffer->begin);
    if (std::memcmp(now, written.before.data(), written.bytes) == 0) continue;
    for_each_word(written.address, written.bytes, [&](std::uint64_t word) {
      std::uint32_t& last = last_.try_emplace(word, kNoRelease).first->second;
      if (number == kNoRelease) {
        number = static_cast<std::uint32_t>(releases_.size());
        if (pending_atomic_) pending_.before = last;
        releases_.push_back(pending_);
      }
      last = number;
    });
  }
  pending_words_.clear();
}

void WaitLog::look(Warp& warp, const Instruction& in, std::uint32_t mask, std::uint32_t bytes, const Touched& touched) {
  // What it saw a round before did not end the wait.
  std::vector<Wait>& waits = warp.polls.waits;
  if (std::exchange(warp.polls.settled, ~std::size_t{0}) != ~std::size_t{0} && warp.polls.read == &in && !waits.empty())
    waits.pop_back();
  Wait wait{warp.index, static_cast<std::uint32_t>(waits.size()), {}};
  warp.polls.read = &in;
  warp.polls.address = touched.address[std::countr_zero(mask)];
  warp.polls.own = false;
  // What a lane of the block has taken another one may wait for; a counter that it has raised it does not.
  const Kernel& kernel = *launch_->kernel;
  const bool takes = kernel.opcode_at(kernel.index_of(in)).find(".cas") != std::string::npos;
  for (const int lane : lanes_of(mask)) {
    for_each_word(touched.address[lane], bytes, [&](std::uint64_t word) {
      const auto found = last_.find(word);
      if (found == last_.end() || found->second == kNoRelease) return;
      if (releases_[found->second].block == warp.block->number) {
        warp.polls.own |= takes;
      } else if (std::ranges::find(wait.releases, found->second) == wait.releases.end()) {
        wait.releases.push_back(found->second);
      }
    });
  }
  waits.push_back(std::move(wait));
}

void WaitLog::write(Warp& warp, bool atomic, std::uint32_t mask, std::uint32_t bytes, const Touched& touched) {
  pending_ = {warp.block->number, warp.index, warp.polls.releases++, kNoRelease};
  pending_atomic_ = atomic;
  if (within(touched.address[std::countr_zero(mask)], launch_->grid_workspace, kGridWorkspaceBytes))
    ++at_grid_barrier_[warp.block->number];
  if (releases_.size() >= kMostReleases) return;
  for (const int lane : lanes_of(mask)) {
    Written written{touched.address[lane], std::min<std::uint32_t>(bytes, 16), {}};
    const Allocation* buffer = launch_->memory->find(written.address);
    if (buffer == nullptr || buffer->end - written.address < written.bytes) continue;
    std::memcpy(written.before.data(), buffer->host + (written.address - buffer->begin), written.bytes);
    pending_words_.push_back(written);
  }
}

void WaitLog::end_warp(Warp& warp) {
  settle();
  for (Wait& wait : warp.polls.waits) {
    if (wait.releases.empty()) continue;
    ++waiting_;
    waits_[warp.block->number].push_back(std::move(wait));
  }
  warp.polls.waits.clear();
}

std::string WaitLog::barrier_at(const Launch& launch, std::uint64_t address) const {
  if (!within(address, launch.grid_workspace, kGridWorkspaceBytes)) return "";
  const std::uint32_t most = *std::ranges::max_element(at_grid_barrier_);
  std::string missing;
  int named = 0, count = 0;
  for (std::size_t block = 0; block < at_grid_barrier_.size(); ++block) {
    if (at_grid_barrier_[block] == most) continue;
    if (++count > 1 && named == 3) continue;
    ++named;
    if (!missing.empty()) missing += ", ";
    missing += fmt::format("({}, {}, {})", block % launch.grid[0], block / launch.grid[0] % launch.grid[1],
                           block / launch.grid[0] / launch.grid[1]);
  }
  if (count == 0) return "at the grid's barrier";
  if (count > named) missing += fmt::format(" and {} more", count - named);
  return fmt::format("at the grid's barrier, to which block{} {} never come{}", count == 1 ? "" : "s", missing,
                     count == 1 ? "s" : "");
}

}  // namespace evo::vgpu
