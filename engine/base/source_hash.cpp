#include "engine/base/source_hash.h"

#include "engine/base/hash.h"

namespace evo {

std::string hash_of_source(const std::string& source, int max_registers) {
  return Hasher().add(source).add(std::to_string(max_registers)).hex();
}

}  // namespace evo
