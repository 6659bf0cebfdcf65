#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace evo::program {

/// One entry of a fat binary: PTX, or a cubin.
struct FatbinEntry {
  bool ptx = false;
  int sm = 0;        ///< What it was compiled for: 90.
  std::string data;  ///< Decompressed.
};

/// What a program hands over as code.
struct CodeImage {
  std::vector<FatbinEntry> entries;
};

/// The entries of what lies at `image`: a fat binary or the wrapper that nvcc makes of it (fatbinary_section.h), an ELF
/// file, or PTX that ends with a zero. Throws Refusal(invalid_image) and says why for anything else.
CodeImage read_image(const void* image);

}  // namespace evo::program
