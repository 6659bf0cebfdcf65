#pragma once

#include <string>

#include "population/code/specialised.h"

namespace evo {

/// What launches the kernels of one specialisation, in the host namespace: whether it takes a call's size, the bytes of
/// its workspaces, and the launch function itself, which is the family's launch plan with everything folded into it
/// that is known before a launch. `guarded`: it asks first whether the device has the kernels.
std::string launch_function(const Specialised& specialised, bool guarded);

}  // namespace evo
