#pragma once

#include <string>
#include <string_view>

#include "engine/expression/value.h"

namespace evo {

/// An expression's text with names replaced by values. Strings in quotes stay.
std::string with_values(std::string_view text, const Bindings& values);

}  // namespace evo
