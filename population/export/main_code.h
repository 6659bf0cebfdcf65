#pragma once

#include <string>
#include <vector>

#include "population/code/specialised.h"

namespace evo {

/// The program that -DEVO_MAIN adds: it checks the launcher against the task's reference and times it.
std::string main_code(const std::vector<Specialised>& specialisations, const std::vector<Measured>& measured);

}  // namespace evo
