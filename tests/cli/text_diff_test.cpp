#include "cli/text/text_diff.h"

#include <catch2/catch_test_macros.hpp>
#include <sstream>
#include <vector>

#include "engine/base/rng.h"

using namespace evo;
using namespace evo::cli;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::string line;
  for (std::istringstream in(text); std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// What `patch` does: checks every context and removed line, and gives the patched text.
std::string patched(const std::string& a, const std::string& diff) {
  const std::vector<std::string> old = lines_of(a);
  std::string out;
  std::size_t at = 0;
  for (const std::string& line : lines_of(diff)) {
    if (line.starts_with("--- ") || line.starts_with("+++ ")) continue;
    if (line.starts_with("@@ -")) {
      const std::size_t first = std::stoul(line.substr(4));
      const bool empty = line.substr(0, line.find(" +")).ends_with(",0");
      const std::size_t begin = empty ? first : first - 1;
      REQUIRE(begin >= at);
      for (; at < begin; ++at) out += old.at(at) + "\n";
      continue;
    }
    const std::string text = line.substr(1);
    if (line[0] != '+') REQUIRE(old.at(at++) == text);
    if (line[0] != '-') out += text + "\n";
  }
  for (; at < old.size(); ++at) out += old.at(at) + "\n";
  return out;
}

std::string random_text(Rng& rng, std::size_t lines) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) text += std::string(1, static_cast<char>('a' + rng.below(6))) + "\n";
  return text;
}

}  // namespace

TEST_CASE("equal texts have no diff") {
  CHECK(unified_diff("a\nb\n", "a\nb\n", "x", "y").empty());
}

TEST_CASE("a diff has headers, line numbers and three lines of context") {
  CHECK(unified_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "old", "new") ==
        "--- old\n+++ new\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST_CASE("changes far apart make separate hunks") {
  std::string a, b;
  for (int i = 1; i <= 40; ++i) {
    a += std::to_string(i) + "\n";
    b += i == 5 || i == 35 ? "changed\n" : std::to_string(i) + "\n";
  }
  const std::string diff = unified_diff(a, b, "a", "b");
  CHECK(diff.find("@@ -2,7 +2,7 @@") != std::string::npos);
  CHECK(diff.find("@@ -32,7 +32,7 @@") != std::string::npos);
}

TEST_CASE("a diff from or to nothing counts lines as diff -u does") {
  CHECK(unified_diff("", "a\nb\n", "x", "y") == "--- x\n+++ y\n@@ -0,0 +1,2 @@\n+a\n+b\n");
  CHECK(unified_diff("a\n", "", "x", "y") == "--- x\n+++ y\n@@ -1 +0,0 @@\n-a\n");
}

TEST_CASE("a diff applied to one text gives the other, for random texts") {
  Rng rng(7);
  for (int round = 0; round < 500; ++round) {
    const std::string a = random_text(rng, rng.below(30));
    const std::string b = random_text(rng, rng.below(30));
    INFO("a:\n" << a << "b:\n" << b);
    CHECK(patched(a, unified_diff(a, b, "a", "b")) == b);
  }
}

TEST_CASE("texts with nothing in common are replaced as a whole in bounded time") {
  std::string a, b;
  for (int i = 0; i < 6000; ++i) {
    a += "a" + std::to_string(i) + "\n";
    b += "b" + std::to_string(i) + "\n";
  }
  CHECK(patched(a, unified_diff(a, b, "a", "b")) == b);
}
