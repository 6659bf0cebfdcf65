#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
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

}  // namespace

TEST_CASE("no line of the documentation is longer than 120 columns") {
  const fs::path root = EVO_SOURCE_DIR;
  std::vector<fs::path> pages = {root / "README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(root / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  for (const fs::path& page : pages) {
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
