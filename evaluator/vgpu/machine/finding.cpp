#include "evaluator/vgpu/machine/finding.h"

#include "engine/record/enumerators.h"

namespace evo::vgpu {

std::string_view name_of(FindingKind kind) {
  return enumerator_name(kind);
}

}  // namespace evo::vgpu
