#include "engine/task/floor.h"

#include "engine/task/error_context.h"

namespace evo {

Floor floor_of(const Task& task, const Bindings& options, const Shape& shape) {
  Bindings known = options;
  for (const auto& [name, value] : shape.parameters) known.insert_or_assign(name, value);
  return {within(task, "floor.flops", [&] { return task.flops.evaluate_int(known); }),
          within(task, "floor.bytes", [&] { return task.bytes.evaluate_int(known); })};
}

}  // namespace evo
