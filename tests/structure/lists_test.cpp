#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;

std::string source_text(const fs::path& file) {
  std::ifstream stream(fs::path(EVO_SOURCE_DIR) / file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// What the first group of the pattern matches in a text.
Names matches_in(const std::string& text, const std::string& pattern) {
  const std::regex one(pattern);
  Names found;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), one); at != std::sregex_iterator(); ++at)
    found.push_back((*at)[1]);
  return found;
}

/// The same in all files of a folder and of those below it whose names end so.
Names matches_below(const fs::path& folder, const std::string& ending, const std::string& pattern) {
  Names found;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(EVO_SOURCE_DIR) / folder)) {
    if (!entry.path().string().ends_with(ending)) continue;
    for (std::string& name : matches_in(source_text(entry.path()), pattern)) found.push_back(std::move(name));
  }
  return found;
}

/// Those that the list does not call: what exists, but that nobody can ask for.
Names unlisted(const Names& existing, const std::string& list) {
  REQUIRE_FALSE(existing.empty());
  Names missing;
  for (const std::string& name : existing)
    if (!std::regex_search(list, std::regex("\\b" + name + "\\b"))) missing.push_back(name);
  return missing;
}

}  // namespace

TEST_CASE("every command that is written can be called") {
  CHECK(unlisted(matches_below("cli/commands", ".cpp", R"(\nvoid add_(\w+)\(CLI::App& app)"),
                 source_text("cli/commands/commands.h")) == Names{});
}

TEST_CASE("every format that is written can be asked for") {
  CHECK(unlisted(matches_below("population/results", ".cpp", R"(\nResultFormat (\w+)\(\) \{)"),
                 source_text("population/results/formats.cpp")) == Names{});
  CHECK(unlisted(matches_below("population/package", ".h", R"(\nSourceTree (\w+_package)\()"),
                 source_text("population/package/package.cpp")) == Names{});
}

TEST_CASE("every kind of devices that is written can be named") {
  Names kinds =
      matches_below("evaluator", "_backend.h", R"(namespace evo::(\w+) \{[^}]*\nDeviceBackend device_backend)");
  for (std::string& kind : kinds) kind += "::device_backend";
  CHECK(unlisted(kinds, source_text("evaluator/hosts/devices.cpp")) == Names{});
}

TEST_CASE("what a list does not call is found") {
  CHECK(unlisted({"run", "runs", "tune"}, "command(run) command(tune)") == Names{"runs"});
}

TEST_CASE("the steps of the schema are numbered from 01 without a gap") {
  Names steps;
  for (const auto& entry : fs::directory_iterator(fs::path(EVO_SOURCE_DIR) / "population/store/schema"))
    steps.push_back(entry.path().filename().string());
  std::ranges::sort(steps);
  for (std::size_t i = 0; i < steps.size(); ++i)
    CHECK(steps[i] == std::string(i < 9 ? "0" : "") + std::to_string(i + 1) + ".sql");
}
