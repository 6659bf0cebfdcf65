// docs/use.md and docs/team.md show parts of docs/examples/: each block of code names its file and is in it.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

struct CodeBlock {
  int line = 0;      ///< Of its first fence.
  std::string file;  ///< The second word behind the fence: ```cpp docs/examples/NAME.cpp
  std::string text;  ///< Whole lines.
};

std::vector<CodeBlock> code_blocks(std::istream& page) {
  std::vector<CodeBlock> blocks;
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(page, line);) {
    ++number;
    if (line.starts_with("```")) {
      inside = !inside;
      if (!inside) continue;
      std::istringstream words(line);
      std::string language;
      CodeBlock block{.line = number, .file = {}, .text = {}};
      words >> language >> block.file;
      blocks.push_back(block);
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Lines of the page whose block is not in its file, from the beginning of a line on.
std::vector<int> strange_blocks(std::istream& page, const fs::path& root) {
  std::vector<int> strange;
  for (const CodeBlock& block : code_blocks(page)) {
    const bool known = block.file.starts_with("docs/examples/") && fs::is_regular_file(root / block.file);
    const std::string file = known ? "\n" + text_of(root / block.file) : "";
    if (block.text.empty() || file.find("\n" + block.text) == std::string::npos) strange.push_back(block.line);
  }
  return strange;
}

std::vector<int> strange_blocks_of(const std::string& text) {
  std::istringstream page(text);
  return strange_blocks(page, EVO_SOURCE_DIR);
}

}  // namespace

TEST_CASE("every block of code of the pages is in the example that it names, and every example is shown") {
  const fs::path root = EVO_SOURCE_DIR;
  std::set<std::string> shown, examples;
  for (const char* name : {"docs/use.md", "docs/team.md"}) {
    INFO(name);
    std::ifstream page(root / name);
    CHECK(strange_blocks(page, root) == std::vector<int>{});
    page.clear();
    page.seekg(0);
    for (const CodeBlock& block : code_blocks(page)) shown.insert(block.file);
  }
  for (const auto& entry : fs::directory_iterator(root / "docs/examples"))
    if (entry.is_regular_file()) examples.insert("docs/examples/" + entry.path().filename().string());
  CHECK(shown == examples);
}

TEST_CASE("a planted block that is not in its file is found") {
  const std::string install = "pip install --no-build-isolation --no-deps ./evo_fp8_attention ./evo_fp8_sdpa\n";
  CHECK(strange_blocks_of("```sh docs/examples/install.sh\n" + install + "```\n").empty());
  CHECK(strange_blocks_of("\n```sh docs/examples/install.sh\n" + install.substr(1) + "```\n") == std::vector<int>{2});
  CHECK(strange_blocks_of("```sh docs/examples/install.sh\n" + install + "make\n```\n") == std::vector<int>{1});
  CHECK(strange_blocks_of("```sh\n" + install + "```\n") == std::vector<int>{1});
  CHECK(strange_blocks_of("```sh docs/examples/none.sh\n```\n") == std::vector<int>{1});
}
