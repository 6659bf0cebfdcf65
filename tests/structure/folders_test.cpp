#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

constexpr int kMostFiles = 40;

/// Folders of sources and documents. runs/ and builds hold what programs write.
const std::vector<std::string> kTops = {"engine", "evaluator", "population", "cli",  "rivals",
                                        "tests",  "templates", "docs",       "cmake"};
/// They hold data, one small file for each case, and so do the folders below them.
const std::vector<std::string> kOfData = {"tests/data", "tests/vgpu/sanitiser"};

bool is_of_data(const std::string& folder) {
  return std::ranges::any_of(kOfData, [&](const std::string& data) { return (folder + "/").starts_with(data + "/"); });
}

/// Written by programs: "__pycache__" and hidden folders.
bool is_generated(const std::string& folder) {
  return folder.find("/__") != std::string::npos || folder.find("/.") != std::string::npos;
}

std::vector<std::string> complaints(const std::vector<std::string>& files) {
  std::map<std::string, int> counts;
  for (const std::string& file : files) ++counts[fs::path(file).parent_path().string()];
  std::vector<std::string> found;
  for (const auto& [folder, count] : counts) {
    if (count > kMostFiles && !is_of_data(folder) && !is_generated(folder))
      found.push_back(folder + " has " + std::to_string(count) + " files");
  }
  return found;
}

std::vector<std::string> project_files() {
  const fs::path root = EVO_SOURCE_DIR;
  std::vector<std::string> files;
  for (const std::string& top : kTops) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top))
      if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), root).string());
  }
  return files;
}

std::vector<std::string> files_in(const std::string& folder, int count) {
  std::vector<std::string> files;
  for (int i = 0; i < count; ++i) files.push_back(folder + "/" + std::to_string(i) + ".cpp");
  return files;
}

using Found = std::vector<std::string>;

}  // namespace

TEST_CASE("no folder has more than 40 files") {
  for (const std::string& complaint : complaints(project_files())) FAIL_CHECK(complaint);
}

TEST_CASE("a planted crowded folder is found") {
  CHECK(complaints(files_in("engine/base", 40)).empty());
  CHECK(complaints(files_in("engine/base", 41)) == Found{"engine/base has 41 files"});
}

TEST_CASE("files in folders below do not count") {
  std::vector<std::string> files = files_in("engine", 30);
  for (const std::string& file : files_in("engine/base", 30)) files.push_back(file);
  CHECK(complaints(files).empty());
}

TEST_CASE("folders of data may be crowded") {
  CHECK(complaints(files_in("tests/data/recorded", 90)).empty());
  CHECK(complaints(files_in("tests/database", 90)) == Found{"tests/database has 90 files"});
}
