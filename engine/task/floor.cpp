#include "engine/task/floor.h"

#include "engine/task/error_context.h"
#include "engine/task/scope.h"

namespace evo {

namespace {

/// Each input read once, each output written once; one that is read, twice.
std::int64_t bytes_of_tensors(const Task& task, const Bindings& known) {
  std::uint64_t bytes = 0;
  for (const auto* tensors : {&task.inputs, &task.outputs}) {
    for (const Tensor& tensor : *tensors) {
      if (!is_present(tensor, known)) continue;
      const auto elements = static_cast<std::uint64_t>(element_count(tensor, known));
      bytes += bytes_for(dtype_of(tensor, known), elements) * (tensor.inout ? 2 : 1);
    }
  }
  return static_cast<std::int64_t>(bytes);
}

}  // namespace

Floor floor_of(const Task& task, const Bindings& options, const Shape& shape) {
  const Bindings known = joined(options, shape.parameters);
  return {within(task, "floor.flops", [&] { return task.flops.evaluate_int(known); }),
          task.has_bytes ? within(task, "floor.bytes", [&] { return task.bytes.evaluate_int(known); })
                         : bytes_of_tensors(task, known)};
}

double work_of(const Task& task, const Bindings& options, const Shape& shape, const DeviceKind& kind) {
  const Floor floor = floor_of(task, options, shape);
  return static_cast<double>(floor.flops) + kind.work_per_byte * static_cast<double>(floor.bytes);
}

}  // namespace evo
