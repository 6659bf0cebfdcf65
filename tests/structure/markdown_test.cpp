#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace fs = std::filesystem;

namespace {

constexpr std::ptrdiff_t kColumns = 120;

/// Characters of UTF-8: every byte but those that continue one.
std::ptrdiff_t columns(std::string_view line) {
  return std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

/// The numbers of the lines that are too long. A row of a table cannot be broken.
std::vector<int> long_lines(std::istream& text) {
  std::vector<int> found;
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (columns(line) > kColumns && !line.starts_with('|')) found.push_back(number);
  }
  return found;
}

std::vector<int> long_lines_of(const std::string& text) {
  std::istringstream stream(text);
  return long_lines(stream);
}

/// The pages in the root folder and below docs/.
std::vector<fs::path> pages_of(const fs::path& root) {
  std::vector<fs::path> pages;
  for (const auto& entry : fs::directory_iterator(root)) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  for (const auto& entry : fs::recursive_directory_iterator(root / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  return pages;
}

/// The files that a page links to, seen from its folder, or names as docs/..., seen from `root`, and that do not exist.
std::vector<std::string> missing_files(const std::string& page, const fs::path& folder, const fs::path& root) {
  static const std::regex kLink(R"(\]\(([^)#:\s]+)(#[^)]*)?\))"), kNamed(R"(\bdocs/[\w/]+\.(md|svg|png|cpp|py|sh)\b)");
  std::vector<std::string> missing;
  const auto check = [&](const std::regex& pattern, int group, const fs::path& from) {
    for (std::sregex_iterator match(page.begin(), page.end(), pattern), end; match != end; ++match) {
      const std::string file = (*match)[static_cast<std::size_t>(group)];
      if (!fs::exists(from / file)) missing.push_back(file);
    }
  };
  check(kLink, 1, folder);
  check(kNamed, 0, root);
  return missing;
}

/// The names of all tests.
std::vector<std::string> test_names(const fs::path& root) {
  static const std::regex kTest(R"re(TEST_CASE\(\s*"((?:[^"\\]|\\.|"\s*")*)")re"), kJoint(R"re("\s*")re");
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(root / "tests")) {
    if (entry.path().extension() != ".cpp") continue;
    std::ifstream in(entry.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    for (std::sregex_iterator match(text.begin(), text.end(), kTest), end; match != end; ++match)
      names.push_back(std::regex_replace((*match)[1].str(), kJoint, ""));
  }
  return names;
}

/// What the tables of a page have in quotes, and no test is called so, or begins so where it ends with " ...".
std::vector<std::string> unknown_tests(const std::string& page, const std::vector<std::string>& names) {
  static const std::regex kQuoted(R"re("([^"]+?)( \.\.\.)?")re");
  std::vector<std::string> unknown;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('|')) continue;
    for (std::sregex_iterator match(line.begin(), line.end(), kQuoted), end; match != end; ++match) {
      const std::string named = (*match)[1];
      const bool begins = (*match)[2].matched;
      if (std::ranges::none_of(
              names, [&](const std::string& name) { return begins ? name.starts_with(named) : name == named; }))
        unknown.push_back(named);
    }
  }
  return unknown;
}

}  // namespace

TEST_CASE("no line of the documentation is longer than 120 columns") {
  const fs::path root = EVO_SOURCE_DIR;
  for (const fs::path& page : pages_of(root)) {
    INFO(fs::relative(page, root).string());
    std::ifstream text(page);
    CHECK(long_lines(text) == std::vector<int>{});
  }
}

TEST_CASE("a planted long line is found, and columns are characters") {
  const std::string longest(120, 'x');
  CHECK(long_lines_of(longest + "\n" + longest + "x\n") == std::vector<int>{2});
  std::string umlauts;
  for (int i = 0; i < 120; ++i) umlauts += "ä";
  CHECK(long_lines_of(umlauts + "\n").empty());
  CHECK(long_lines_of(umlauts + "ä\n") == std::vector<int>{1});
  CHECK(long_lines_of("| " + longest + " |\n").empty());
}

TEST_CASE("every file that a page links to or names exists") {
  const fs::path root = EVO_SOURCE_DIR;
  for (const fs::path& page : pages_of(root)) {
    INFO(fs::relative(page, root).string());
    std::ostringstream text;
    text << std::ifstream(page).rdbuf();
    CHECK(missing_files(text.str(), page.parent_path(), root) == std::vector<std::string>{});
  }
}

TEST_CASE("planted links to nothing are found, and others are not") {
  const fs::path root = EVO_SOURCE_DIR;
  const std::string text =
      "[a](gone.md) [b](architecture.md#layers) (docs/search.md) docs/gone/gone.md [c](https://example.org/x.md)";
  CHECK(missing_files(text, root / "docs", root) == std::vector<std::string>{"gone.md", "docs/gone/gone.md"});
}

TEST_CASE("every test that the tables of docs/trust.md name exists") {
  const fs::path root = EVO_SOURCE_DIR;
  std::ifstream in(root / "docs/trust.md");
  CHECK(unknown_tests({std::istreambuf_iterator<char>(in), {}}, test_names(root)) == std::vector<std::string>{});
  CHECK(unknown_tests("| \"one\" | \"tw ...\" |\n| \"on\" | \"o ...\" |\n", {"one", "two"}) ==
        std::vector<std::string>{"on"});
}

TEST_CASE("no folder of docs/results holds more than 40 files") {
  std::map<fs::path, int> files;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(EVO_SOURCE_DIR) / "docs/results")) {
    if (entry.is_regular_file()) ++files[entry.path().parent_path()];
  }
  CHECK_FALSE(files.empty());
  for (const auto& [folder, count] : files) {
    INFO(folder.string());
    CHECK(count <= 40);
  }
}

TEST_CASE("every page of docs/results is written by evo results") {
  int pages = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(EVO_SOURCE_DIR) / "docs/results")) {
    if (entry.path().extension() != ".md") continue;
    INFO(entry.path().filename().string());
    std::ifstream text(entry.path());
    std::string title, mark;
    std::getline(text, title);
    std::getline(text, mark);
    CHECK(mark.starts_with("<!-- Written by evo results"));
    ++pages;
  }
  CHECK(pages > 0);
}
