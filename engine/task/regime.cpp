#include "engine/task/regime.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/record/enumerators.h"

namespace evo {

Distribution parse_distribution(std::string_view name) {
  if (const auto distribution = enumerator_named<Distribution>(name)) return *distribution;
  const std::vector<std::string> known(kEnumeratorNames<Distribution>.begin(), kEnumeratorNames<Distribution>.end());
  throw usage_error(fmt::format("unknown distribution '{}'{}", name, suggestion(std::string(name), known)));
}

}  // namespace evo
