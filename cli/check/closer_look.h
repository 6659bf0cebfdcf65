#pragma once

#include <string>
#include <vector>

#include "cli/subject/restore.h"

namespace evo::cli {

/// Whether a look at a candidate on a virtual GPU may tell more than this verdict does.
bool deserves_closer_look(Verdict verdict);

/// A virtual GPU's findings on a rejected candidate: arguments that its kernels' parameters differ from, else the first
/// finding of the sanitiser, with the template's file and line. It runs one case of up to three of the candidate's
/// cheapest shapes for some seconds. Empty if nothing is found, or if no virtual GPU runs the candidate.
std::vector<std::string> closer_look(const Restored& rejected);

}  // namespace evo::cli
