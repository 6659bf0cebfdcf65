#pragma once

#include <array>

#include "evaluator/vgpu/cost/cost_model.h"

/// What machine instructions ask of an SM.
namespace evo::vgpu {

inline constexpr int kPartitions = 4;  ///< Sub-partitions of an SM, each with a scheduler and pipes of its own.

/// Of a warp's instruction of one class.
struct Demand {
  Pipe pipe = Pipe::issue;
  double clocks = 1;   ///< That the pipe (of a sub-partition, or of the SM) is busy.
  double latency = 4;  ///< From issue until the result can be read.
  Stall cause = Stall::dependence;
};

/// The demands of all classes, looked up once.
class Demands {
 public:
  explicit Demands(const DeviceModel& model);
  const Demand& operator[](OpClass op_class) const { return of_[static_cast<std::size_t>(op_class)]; }

 private:
  std::array<Demand, kOpClasses> of_;
};

/// Clocks of a matrix product when all the tensor cores of the SM share it.
double product_clocks(const MmaRates& rates, const MmaForm& form);

}  // namespace evo::vgpu
