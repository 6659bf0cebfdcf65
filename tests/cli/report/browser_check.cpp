#include "browser_check.h"

#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace evo::testing {

void check_in_browser(const std::string& script, const std::vector<std::filesystem::path>& arguments,
                      const std::filesystem::path& log) {
  std::string command = fmt::format("timeout 240 '{}/tests/cli/browser/{}'", EVO_SOURCE_DIR, script);
  for (const std::filesystem::path& argument : arguments) command += fmt::format(" '{}'", argument.string());
  const int status = std::system(fmt::format("{} > '{}' 2>&1", command, log.string()).c_str());
  std::ifstream stream(log);
  const std::string said{std::istreambuf_iterator<char>(stream), {}};
  if (WEXITSTATUS(status) == 77) SKIP(said);
  INFO(said);
  CHECK(status == 0);
}

}  // namespace evo::testing
