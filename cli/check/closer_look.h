#pragma once

#include <string>
#include <vector>

#include "cli/subject/restore.h"

namespace evo::cli {

/// Whether a look at a candidate on a virtual GPU may tell more than this verdict does.
bool deserves_closer_look(Verdict verdict);

/// What a virtual GPU says of a rejected candidate: the arguments that its kernels take otherwise, else the first
/// finding of the sanitiser, with the template's file and line. It runs one case of up to three of the candidate's
/// cheapest shapes for some seconds. Empty where that shows nothing, or nothing that runs the candidate is there.
std::vector<std::string> closer_look(const Restored& rejected);

}  // namespace evo::cli
