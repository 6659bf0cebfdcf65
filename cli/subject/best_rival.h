#pragma once

#include <string>
#include <vector>

#include "population/store/store.h"

namespace evo::cli {

/// "2.71x the best rival (Triton e4m3, same sitting)": how many times as long the best rival takes. Empty when no
/// rival's answer was right.
std::string best_rival_text(const Sitting& sitting);

/// The same of the first of several that was held on a device of this model. Empty when there is none.
std::string best_rival_text(const std::vector<Sitting>& sittings, const DeviceRecord& device);

/// The first that was held on a device of this model: rivals on another one say nothing. Null when there is none.
const Sitting* sitting_on(const std::vector<Sitting>& sittings, const DeviceRecord& device);

}  // namespace evo::cli
