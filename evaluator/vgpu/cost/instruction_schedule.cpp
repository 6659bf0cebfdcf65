#include "evaluator/vgpu/cost/instruction_schedule.h"

#include <algorithm>

namespace evo::vgpu {
namespace {

/// How many places an instruction may go ahead. Going further would need more registers than there are.
constexpr std::size_t kWindow = 32;
constexpr std::size_t kLongestStretch = 4096;
constexpr std::uint32_t kNobody = 0xffff'ffffu;

/// Whether no instruction moves across this one.
bool stays(OpClass op_class) {
  switch (op_class) {
    case OpClass::nothing:
    case OpClass::integer:
    case OpClass::integer_multiply:
    case OpClass::bit_search:
    case OpClass::float_fma:
    case OpClass::float_compare:
    case OpClass::half_fma:
    case OpClass::half_compare:
    case OpClass::double_fma:
    case OpClass::special:
    case OpClass::convert:
    case OpClass::convert_pack:
    case OpClass::convert_to_fp8:
    case OpClass::convert_from_fp8:
    case OpClass::shuffle:
    case OpClass::vote:
    case OpClass::redux:
    case OpClass::load:
    case OpClass::store:
    case OpClass::matrix_load:
    case OpClass::matrix_store:
    case OpClass::matrix_product:
    case OpClass::special_register:
    case OpClass::async_copy:
      return false;
    default:
      return true;
  }
}

bool writes_memory(OpClass op_class) {
  return op_class == OpClass::store || op_class == OpClass::matrix_store;
}
bool reads_memory(OpClass op_class) {
  return op_class == OpClass::load || op_class == OpClass::matrix_load;
}

/// The latencies that ptxas seems to assume, in clocks.
std::uint32_t expected_latency(OpClass op_class) {
  switch (op_class) {
    case OpClass::nothing:
      return 0;
    case OpClass::special:
    case OpClass::convert:
    case OpClass::bit_search:
      return 18;
    case OpClass::shuffle:
    case OpClass::redux:
      return 24;
    case OpClass::load:
    case OpClass::matrix_load:
      return 30;
    case OpClass::matrix_product:
      return 32;
    case OpClass::vote:
    case OpClass::convert_pack:
    case OpClass::convert_to_fp8:
    case OpClass::convert_from_fp8:
      return 8;
    default:
      return 5;
  }
}

/// For each instruction those that must come before it.
class Dependences {
 public:
  void add(std::uint32_t index, const RecordedInstruction& in, TracedSpace space) {
    for (const std::uint16_t reg : in.reads) after(index, writer(reg));
    for (const std::uint16_t reg : in.writes) {
      after(index, writer(reg));
      for (const std::uint32_t reader : readers_[reg]) after(index, reader);
    }
    // Accesses to shared memory do not depend on accesses to other memory.
    Accesses& same = space == TracedSpace::shared || space == TracedSpace::remote_shared ? shared_ : others_;
    if (reads_memory(in.op_class)) {
      after(index, same.last_store);
      same.loads.push_back(index);
    }
    if (writes_memory(in.op_class)) {
      after(index, same.last_store);
      for (const std::uint32_t load : same.loads) after(index, load);
      same.loads.clear();
      same.last_store = index;
    }
    for (const std::uint16_t reg : in.reads) readers_[reg].push_back(index);
    for (const std::uint16_t reg : in.writes) {
      writers_[reg] = index;
      readers_[reg].clear();
    }
  }
  const std::vector<std::vector<std::uint32_t>>& before() const { return before_; }
  void begin(std::size_t count) { before_.resize(count); }

 private:
  std::uint32_t writer(std::uint16_t reg) const {
    const auto found = writers_.find(reg);
    return found == writers_.end() ? kNobody : found->second;
  }
  void after(std::uint32_t index, std::uint32_t earlier) {
    if (earlier != kNobody && earlier != index) before_[index].push_back(earlier);
  }

  std::vector<std::vector<std::uint32_t>> before_;
  std::unordered_map<std::uint16_t, std::uint32_t> writers_;
  std::unordered_map<std::uint16_t, std::vector<std::uint32_t>> readers_;
  struct Accesses {
    std::vector<std::uint32_t> loads;  ///< Since the last store.
    std::uint32_t last_store = kNobody;
  };
  Accesses shared_;
  Accesses others_;
};

}  // namespace

std::vector<std::uint32_t> InstructionScheduler::order_of(std::span<const Event> stretch) const {
  const auto count = static_cast<std::uint32_t>(stretch.size());
  Dependences dependences;
  dependences.begin(count);
  for (std::uint32_t i = 0; i < count; ++i) dependences.add(i, instructions_[stretch[i].instruction], stretch[i].space);

  std::vector<std::uint32_t> order, left(count), ready(count, 0);  // `ready`: when a result can be used.
  std::vector<char> issued(count, 0);
  for (std::uint32_t i = 0; i < count; ++i) left[i] = i;
  std::uint32_t now = 0;
  while (!left.empty()) {
    std::size_t best = 0;
    std::uint32_t best_start = kNobody;
    for (std::size_t at = 0; at < std::min(left.size(), kWindow) && best_start > now; ++at) {
      std::uint32_t start = now;
      bool possible = true;
      for (const std::uint32_t earlier : dependences.before()[left[at]]) {
        possible &= issued[earlier] != 0;
        start = std::max(start, ready[earlier]);
      }
      if (possible && start < best_start) {
        best = at;
        best_start = start;
      }
    }
    const std::uint32_t chosen = left[best];
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(best));
    const RecordedInstruction& in = instructions_[stretch[chosen].instruction];
    order.push_back(chosen);
    issued[chosen] = 1;
    ready[chosen] = best_start + expected_latency(in.op_class);
    now = best_start + (in.op_class == OpClass::nothing ? 0 : in.count);
  }
  return order;
}

void InstructionScheduler::schedule_stretch(std::span<Event> stretch) {
  if (stretch.size() < 3) return;
  std::uint64_t hash = stretch.size();
  for (const Event& event : stretch) hash = (hash ^ event.instruction) * 0x9E3779B97F4A7C15u + (hash >> 29);
  auto [found, fresh] = known_.try_emplace(hash);
  if (fresh) found->second = order_of(stretch);
  moved_.assign(stretch.begin(), stretch.end());
  for (std::size_t i = 0; i < stretch.size(); ++i) stretch[i] = moved_[found->second[i]];
}

void InstructionScheduler::schedule(std::vector<Event>& events) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= events.size(); ++i) {
    const bool ends = i == events.size() || stays(instructions_[events[i].instruction].op_class);
    if (!ends && i - begin < kLongestStretch) continue;
    schedule_stretch(std::span(events).subspan(begin, i - begin));
    begin = ends ? i + 1 : i;
  }
}

}  // namespace evo::vgpu
