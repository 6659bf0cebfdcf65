#pragma once

#include <string>
#include <vector>

#include "population/export/specialised.h"

/// The host code of an exported file: the family's launch plan, with everything folded into it that is known before a
/// launch.
namespace evo {

/// The launcher takes a tensor at any multiple of so many bytes: what TMA, cp.async and the widest loads need, and no
/// kernel may ask for more. Workspaces are cut from one piece, each at a multiple of its own.
inline constexpr int kTensorAlignment = 16;
inline constexpr int kWorkspaceAlignment = 256;

/// The helper functions, one launch function for each specialisation, and the public launcher. `measured` is empty
/// unless the launcher chooses among several kernels of one specialisation (export_dispatch).
std::string host_code(const std::vector<Specialised>& specialisations, const std::vector<Measured>& measured);

/// The public functions of such a file, declared: the launcher and, where it takes a workspace, its size.
std::string launcher_declarations(const std::vector<Specialised>& specialisations);

}  // namespace evo
