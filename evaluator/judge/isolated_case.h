#pragma once

#include "engine/task/stages.h"
#include "evaluator/judge/cases.h"

namespace evo {

/// A case of the isolation's shape and regime like `like`, with its inputs drawn and then edited.
Case isolated_case(const Task& task, const Bindings& options, const Isolation& isolation, const Case& like,
                   std::uint64_t salt);

}  // namespace evo
