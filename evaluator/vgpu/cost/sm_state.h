#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "evaluator/vgpu/cost/pipes.h"
#include "evaluator/vgpu/cost/recorded_trace.h"

/// What a simulated SM knows of the blocks that it runs. Times are in clocks.
namespace evo::vgpu::sm {

struct Register {
  double ready = 0;
  Stall cause = Stall::dependence;
  bool widened = false;  ///< It holds 8-bit floats, converted to f16 since they were written.
};

/// Asynchronous work of a warp, committed in groups that end in order.
struct AsyncGroups {
  Stall cause;                        ///< What a warp that waits for them waits for.
  double open = 0;                    ///< When the work since the last commit ends.
  std::deque<double> committed = {};  ///< When each group that may be in flight ends.

  void commit() {
    committed.push_back(open);
    open = 0;
  }
  /// When all groups but the latest `pending` ones end.
  double end_of_all_but(std::size_t pending) const {
    double end = 0;
    for (std::size_t i = 0; i + pending < committed.size(); ++i) end = std::max(end, committed[i]);
    return end;
  }
  void forget_all_but(std::size_t pending) {
    while (committed.size() > pending) committed.pop_front();
  }
};

struct Warp {
  const std::vector<Event>* events = nullptr;
  std::size_t at = 0;
  int slot = 0;  ///< The block's place among the resident ones.
  int partition = 0;
  double next = 0;             ///< The earliest issue, after the preceding instruction.
  double last = 0;             ///< When the preceding instruction issued.
  Stall waited = Stall::none;  ///< Why the warp waits.
  std::vector<Register> registers;
  AsyncGroups copies{Stall::async_copy};
  AsyncGroups bulk_copies{Stall::async_copy};
  AsyncGroups products{Stall::tensor_core};
  double product_end = 0;  ///< When the latest product ends.
};

/// A phase of an mbarrier. It is over at the time of its last contribution.
struct PhaseState {
  std::uint32_t missing = 0;
  double over = 0;
  std::vector<int> waiting;
};

struct BarrierState {
  double last_arrival = 0;
  std::uint32_t arrived = 0;
  std::vector<int> waiting;
};

struct Slot {
  int first_warp = 0;
  int warps = 0;
  int running = 0;
  std::array<BarrierState, 16> barriers;
  const RecordedBlock* block = nullptr;
  std::vector<PhaseState> phases;
};

struct Turn {
  double time;
  int warp;
  bool operator>(const Turn& other) const { return time != other.time ? time > other.time : warp > other.warp; }
};

}  // namespace evo::vgpu::sm
