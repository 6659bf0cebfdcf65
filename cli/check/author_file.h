#pragma once

#include <string>

#include "engine/result/verdict.h"

namespace evo::cli {

/// A candidate's reason with the file that is at fault before it, unless it names one: "scale/plain/kernel.cu: shape
/// small: y: ...", or family.json where a launch is refused.
std::string with_file(Verdict verdict, const std::string& reason, const std::string& task, const std::string& family);

}  // namespace evo::cli
