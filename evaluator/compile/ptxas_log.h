#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engine/result/build.h"

namespace evo {

/// What each kernel takes, by its name in PTX, as the resource lines of a compiler log say it, with the functions that
/// the kernel calls. Empty where the log has no kernels.
std::map<std::string, KernelBuild> kernel_builds(std::string_view log);

/// The log without lines that differ from one compilation of the same source to the next ("Compile time = 2.8
/// ms").
std::string repeatable_log(std::string_view log);

/// The first line that reports an error ("kernel.cu(12): error: ..."), else the first line; never empty.
std::string first_error(std::string_view log);

}  // namespace evo
