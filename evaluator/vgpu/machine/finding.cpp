#include "evaluator/vgpu/machine/finding.h"

namespace evo::vgpu {

std::string_view name_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::bad_access:
      return "bad_access";
    case FindingKind::uninitialised:
      return "uninitialised";
    case FindingKind::race:
      return "race";
    case FindingKind::unwaited_copy:
      return "unwaited_copy";
    case FindingKind::divergent_barrier:
      return "divergent_barrier";
    case FindingKind::deadlock:
      return "deadlock";
    case FindingKind::fault:
      break;
  }
  return "fault";
}

}  // namespace evo::vgpu
