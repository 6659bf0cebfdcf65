#pragma once

#include <cstdint>

#include "engine/result/evaluation.h"

namespace evo {

/// Puts a candidate's verdict into the log, and each timing with the clocks at which it was taken.
void log_evaluation(std::uint64_t ticket, const Evaluation& evaluation);

}  // namespace evo
