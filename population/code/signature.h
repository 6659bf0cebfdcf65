#pragma once

#include <string>
#include <vector>

#include "population/code/specialised.h"

namespace evo {

/// The arguments of a launcher and of the launch functions, and how code names them.
struct Signature {
  std::vector<std::string> tensors;    ///< "const void* q"
  std::vector<std::string> arguments;  ///< "q"
  std::vector<std::string> sizes;      ///< "int B"
  std::string shape;                   ///< "B, H, S, D"
  std::string not_positive;            ///< "B < 1 || H < 1 || ..."
};

Signature signature_of(const ExportRequest& request);

/// What the names of one specialisation's functions end with: "_D64", or nothing.
std::string tail_of(const Specialised& specialised);

}  // namespace evo
