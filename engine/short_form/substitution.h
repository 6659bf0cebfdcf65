#pragma once

#include <string>
#include <string_view>

#include "engine/expression/value.h"

namespace evo {

/// An expression's text with values in the place of names. Strings in quotes stay.
std::string with_values(std::string_view text, const Bindings& values);

}  // namespace evo
