#include "evaluator/program/launch_attributes.h"

#include <driver_types.h>

#include <span>

namespace evo::program {

void take_attributes(KernelLaunch& launch, const void* attributes, unsigned count) {
  require(attributes != nullptr || count == 0);
  const auto* first = static_cast<const cudaLaunchAttribute*>(attributes);
  for (const cudaLaunchAttribute& one : std::span(first, count)) {
    switch (one.id) {
      case cudaLaunchAttributeCooperative:
        launch.cooperative = one.val.cooperative != 0;
        break;
      case cudaLaunchAttributeClusterDimension:
        launch.cluster = {one.val.clusterDim.x, one.val.clusterDim.y, one.val.clusterDim.z};
        break;
      case cudaLaunchAttributeProgrammaticStreamSerialization:
        launch.programmatic = one.val.programmaticStreamSerializationAllowed != 0;
        break;
      default:  // Priorities, policies of caches and the like change no result.
        break;
    }
  }
}

}  // namespace evo::program
