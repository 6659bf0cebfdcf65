#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace evo::testing {

/// Runs a script of tests/cli/browser/ in a headless Chromium and fails with what it says; skips the test where it
/// does.
void check_in_browser(const std::string& script, const std::vector<std::filesystem::path>& arguments,
                      const std::filesystem::path& log);

}  // namespace evo::testing
