#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

/// Which folders the files of a layer may include (docs/architecture.md).
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"engine", {"engine"}},
    {"evaluator", {"engine", "evaluator"}},
    {"population", {"engine", "population"}},
    {"cli", {"engine", "evaluator", "population", "cli"}},
};

/// Too heavy, or too foreign, to be seen through a header of ours.
const std::vector<std::string> kOnlyInSources = {"nlohmann/json.hpp", "CLI/",    "SQLiteCpp/",
                                                 "sqlite3.h",         "spdlog/", "fmt/"};

struct SourceFile {
  fs::path path;  ///< Relative to the project.
  std::vector<std::string> quoted;
  std::vector<std::string> angled;
};

SourceFile scan(const fs::path& path, std::istream& text) {
  static const std::regex include_line(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  SourceFile file{path, {}, {}};
  for (std::string line; std::getline(text, line);) {
    std::smatch match;
    if (!std::regex_search(line, match, include_line)) continue;
    (match[1] == "<" ? file.angled : file.quoted).push_back(match[2]);
  }
  return file;
}

std::vector<std::string> violations(const SourceFile& file) {
  std::vector<std::string> found;
  const std::string layer = file.path.begin()->string();
  for (const std::string& include : file.quoted) {
    if (!kMayInclude.at(layer).contains(fs::path(include).begin()->string())) {
      found.push_back(file.path.string() + " includes " + include + ", which " + layer + " may not see");
    }
  }
  if (file.path.extension() == ".h") {
    for (const std::string& include : file.angled) {
      for (const std::string& heavy : kOnlyInSources) {
        if (include.starts_with(heavy)) found.push_back(file.path.string() + " is a header and includes " + include);
      }
    }
  }
  return found;
}

std::vector<std::string> violations_of_project() {
  const fs::path root = EVO_SOURCE_DIR;
  std::vector<std::string> found;
  for (const auto& [layer, allowed] : kMayInclude) {
    for (const auto& entry : fs::recursive_directory_iterator(root / layer)) {
      if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
      std::ifstream text(entry.path());
      const auto here = violations(scan(fs::relative(entry.path(), root), text));
      found.insert(found.end(), here.begin(), here.end());
    }
  }
  return found;
}

std::vector<std::string> violations_in(const std::string& path, const std::string& text) {
  std::istringstream stream(text);
  return violations(scan(path, stream));
}

}  // namespace

TEST_CASE("every file includes only what its layer may see") {
  CHECK(violations_of_project() == std::vector<std::string>{});
}

TEST_CASE("a planted layer violation is found") {
  CHECK(violations_in("engine/a.cpp", "#include \"evaluator/device/device.h\"\n").size() == 1);
  CHECK(violations_in("evaluator/a.h", "  # include \"population/store/store.h\"\n").size() == 1);
  CHECK(violations_in("population/a.cpp", "#include \"cli/text/table.h\"\n").size() == 1);
  CHECK(violations_in("engine/a.h", "#include <nlohmann/json.hpp>\n").size() == 1);
  CHECK(violations_in("engine/a.cpp", "#include <nlohmann/json.hpp>\n#include \"engine/a.h\"\n").empty());
}

TEST_CASE("the folders at the top are the ones the architecture names") {
  for (const char* folder :
       {"engine", "evaluator", "population", "cli", "templates", "tests", "docs", "cmake", "runs"}) {
    CHECK(fs::is_directory(fs::path(EVO_SOURCE_DIR) / folder));
  }
}
