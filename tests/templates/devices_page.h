#pragma once

#include <string>
#include <vector>

#include "tests/templates/shipped.h"

/// The tables of docs/devices.md, from what the program and the templates know.
namespace evo::test {

/// A task aimed, on a compute capability, at the shapes that are timed on the virtual GPU.
Aimed aimed_at(const std::string& task, int sm, const Bindings& options = {});

/// Names of the families that have a legal genome for a task on a compute capability.
std::vector<std::string> serving_families(const std::string& task, int sm, const Bindings& options = {});

/// "| fact | 7.5 | 8.0 | ..."
std::string abilities_table();
/// "| task | family | 7.5 | ...": which capabilities a family serves, with some options.
std::string families_table();
/// "| model | GPU | ...": the virtual GPUs.
std::string models_table();

}  // namespace evo::test
