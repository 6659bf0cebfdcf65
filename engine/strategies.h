#pragma once

#include <cstdint>
#include <memory>

#include "engine/strategy.h"

namespace evo {

std::unique_ptr<Strategy> make_random(const Space& space, std::uint64_t seed);
std::unique_ptr<Strategy> make_evolve(const Space& space, std::uint64_t seed);

}  // namespace evo
