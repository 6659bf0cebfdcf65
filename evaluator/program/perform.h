#pragma once

#include "evaluator/program/work.h"

namespace evo::program {

/// When, in modelled microseconds, a stream has done what it was given.
struct Clock {
  double now = 0;
};

/// Does it now. The stream's clock goes on by what it takes, and by what it waits for the part of the GPU that does it.
void perform(const Work& work, Clock& clock);

}  // namespace evo::program
