#include "evaluator/vgpu/launch.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "evaluator/vgpu/block.h"

namespace evo::vgpu {
namespace {

std::array<std::uint32_t, 3> index_of(const Launch& launch, std::uint64_t linear) {
  const auto x = linear % launch.grid[0];
  const auto y = linear / launch.grid[0] % launch.grid[1];
  const auto z = linear / launch.grid[0] / launch.grid[1];
  return {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), static_cast<std::uint32_t>(z)};
}

/// A launch's constant rows, where vector loads want them.
class Prepared {
 public:
  explicit Prepared(Launch& launch) : launch_(launch) {
    const auto& constants = launch.kernel->constants;
    launch.constants = constants_.resize(constants.size());
    if (!constants.empty())
      std::memcpy(launch.constants, constants.data(), constants.size() * sizeof(std::uint32_t));
    launch.caches.assign(launch.kernel->caches, nullptr);
  }
  ~Prepared() { launch_.constants = nullptr; }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

 private:
  Launch& launch_;
  AlignedWords constants_;
};

bool over_budget(Launch& launch) {
  if (launch.executed <= launch.budget.launch_instructions) return false;
  launch.failure =
      failure_of(Verdict::timed_out, fmt::format("kernel {} has not ended after {} warp instructions",
                                                 launch.kernel->name, launch.executed));
  return true;
}

}  // namespace

Failure failure_of(Verdict verdict, std::string reason) {
  Failure failure;
  failure.verdict = verdict;
  failure.reason = std::move(reason);
  return failure;
}

namespace {

/// Traces a block while this lives.
class Traced {
 public:
  Traced(Launch& launch, Block& block, Tracer* tracer) : launch_(launch) {
    launch.tracer = tracer;
    if (tracer == nullptr) return;
    TracedBlock traced;
    std::copy(block.index.begin(), block.index.end(), traced.index);
    traced.warps = static_cast<std::uint32_t>(block.warps.size());
    traced.registers = launch.kernel->rows + launch.kernel->predicates;
    tracer->begin_block(traced);
  }
  ~Traced() {
    if (launch_.tracer != nullptr) launch_.tracer->end_block();
    launch_.tracer = nullptr;
  }
  Traced(const Traced&) = delete;
  Traced& operator=(const Traced&) = delete;

 private:
  Launch& launch_;
};

}  // namespace

void run_blocks(Launch& launch, const Sampling& sampling) {
  const Prepared prepared(launch);
  const std::uint64_t count = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  std::uint64_t next = 0;
  std::vector<std::unique_ptr<Block>> idle;
  std::vector<std::unique_ptr<Block>> suspended;
  // Blocks run one after another. One that takes long may spin on another's work: then others start beside
  // it, as many as a real device would hold.
  while (next < count || !suspended.empty()) {
    std::unique_ptr<Block> block;
    bool sampled = false;
    if (next < count && suspended.size() < std::max(launch.resident_blocks, 1u)) {
      if (idle.empty()) idle.push_back(std::make_unique<Block>(launch));
      block = std::move(idle.back());
      idle.pop_back();
      sampled = std::find(sampling.blocks.begin(), sampling.blocks.end(), next) != sampling.blocks.end();
      block->start(index_of(launch, next++));
    } else {
      block = std::move(suspended.front());
      suspended.erase(suspended.begin());
    }
    Block::State state = Block::State::failed;
    {
      const Traced traced(launch, *block, sampled ? sampling.tracer : nullptr);
      state = block->run();
    }
    if (state == Block::State::failed || over_budget(launch)) return;
    (state == Block::State::finished ? idle : suspended).push_back(std::move(block));
  }
}

}  // namespace evo::vgpu
