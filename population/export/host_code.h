#pragma once

#include <string>
#include <vector>

#include "population/code/specialised.h"
#include "population/code/target_guard.h"

/// The host code of an exported file: the family's launch plan, with everything folded into it that is known before a
/// launch.
namespace evo {

/// The helper functions, one launch function for each specialisation, and the public launcher. `measured` is empty
/// unless the launcher chooses among several kernels of one specialisation (export_dispatch).
std::string host_code(const std::vector<Specialised>& specialisations, const std::vector<Measured>& measured,
                      const TargetGuard& guard);

/// The public functions of such a file, declared: the launcher and, where it takes a workspace, its size.
std::string launcher_declarations(const std::vector<Specialised>& specialisations);

}  // namespace evo
