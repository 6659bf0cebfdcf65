#pragma once

#include <array>

#include "evaluator/vgpu/cost/device_models.h"
#include "evaluator/vgpu/cost/pipes.h"
#include "evaluator/vgpu/machine/trace.h"

/// Which pipe a class of instructions occupies, and for how long.
namespace evo::vgpu {

/// The demand of one instruction of one warp.
struct Demand {
  Pipe pipe = Pipe::issue;
  double clocks = 1;                ///< How long the pipe (of a sub-partition, or of the SM) is busy.
  double latency = 4;               ///< From issue until the result can be read.
  Stall cause = Stall::dependence;  ///< What a warp that needs the result waits for.
};

/// The demands of all classes on one GPU.
class Demands {
 public:
  explicit Demands(const DeviceModel& model);
  const Demand& operator[](OpClass op_class) const { return of_[static_cast<std::size_t>(op_class)]; }

 private:
  std::array<Demand, kOpClasses> of_;
};

/// Clocks of a matrix product when all tensor cores of the SM share it.
double product_clocks(const MmaRates& rates, const MmaForm& form);
/// Of a product in tensor memory; `form` has the types, and K of 64 where operands have 4 bits.
double tensor_product_clocks(const MmaRates& rates, const MmaForm& form, double flops);

}  // namespace evo::vgpu
