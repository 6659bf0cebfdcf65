#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace {

constexpr int kFunctionLines = 60;
constexpr int kFileLines = 500;
/// Says why a function is long, in the comment above it, or a file, in its first line.
constexpr std::string_view kExcuse = "// Long because: ";

/// What is still too long, as "FILE" or "FILE: FUNCTION". What is no longer too long must leave the list.
const std::set<std::string> kStillLong = {};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// C++ with blanks for its comments, literals and preprocessor lines. Lines and columns stay.
class Code {
 public:
  explicit Code(std::string text) : text_(std::move(text)) {
    while (at_ < text_.size()) step();
  }

  const std::string& text() const { return text_; }

 private:
  bool sees(std::string_view what) const { return std::string_view(text_).substr(at_).starts_with(what); }

  void blank_until(std::size_t end) {
    for (end = std::min(end, text_.size()); at_ < end; ++at_)
      if (text_[at_] != '\n') text_[at_] = ' ';
  }

  std::size_t behind(std::string_view what, std::size_t from) const {
    const std::size_t found = text_.find(what, from);
    return found == std::string::npos ? text_.size() : found + what.size();
  }

  /// Behind the end of the line; of its last one, where backslashes continue it.
  std::size_t end_of_line() const {
    std::size_t end = at_;
    do end = behind("\n", end);
    while (end >= 2 && end < text_.size() && text_[end - 2] == '\\');
    return end;
  }

  std::size_t end_of_quote(char quote) const {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    return end + 1;
  }

  bool begins_line() const {
    const std::size_t before = text_.find_last_not_of(' ', at_ - 1);
    return at_ == 0 || before == std::string::npos || text_[before] == '\n';
  }

  void step() {
    const bool behind_word = at_ > 0 && is_word(text_[at_ - 1]);
    if (sees("//") || (sees("#") && begins_line())) {
      blank_until(end_of_line());
    } else if (sees("/*")) {
      blank_until(behind("*/", at_ + 2));
    } else if (sees("R\"") && !behind_word) {
      const std::size_t open = text_.find('(', at_);
      blank_until(behind(")" + text_.substr(at_ + 2, open - at_ - 2) + "\"", open));
    } else if (sees("\"") || (sees("'") && !behind_word)) {
      blank_until(end_of_quote(text_[at_]));
    } else {
      ++at_;
    }
  }

  std::string text_;
  std::size_t at_ = 0;
};

struct Function {
  std::string name;
  int line = 0;  ///< Where its head begins.
  int lines = 0;
};

/// The functions of formatted C++, also those in classes. A lambda belongs to the function around it.
class Functions {
 public:
  explicit Functions(const std::string& text) : code_(text) {
    while (at_ < code_.text().size()) step();
  }

  const std::vector<Function>& found() const { return found_; }

 private:
  void step() {
    const std::string& text = code_.text();
    const char c = text[at_];
    if (c == '(') ++parentheses_;
    if (c == ')') --parentheses_;
    if (c == '{' && parentheses_ == 0) return brace();
    const bool access = c == ':' && (head().ends_with("public") || head().ends_with("private"));
    ++at_;
    if (parentheses_ == 0 && (c == ';' || c == '}' || access)) begin_ = at_;
  }

  /// What stands before a brace since the last statement, from its first word on.
  std::string_view head() const {
    const std::string_view all = std::string_view(code_.text()).substr(begin_, at_ - begin_);
    const std::size_t first = all.find_first_not_of(" \n");
    if (first == std::string_view::npos) return {};
    return all.substr(first, all.find_last_not_of(" \n") + 1 - first);
  }

  void brace() {
    const std::string_view whole = head();
    const std::string_view own = whole.substr(behind_template(whole));
    const std::size_t name = name_end(own);
    if (own.empty() || (name == std::string::npos && is_scope(own))) {
      begin_ = ++at_;
      return;
    }
    // A body, and not the braces of a member's value.
    const bool body = name != std::string::npos && code_.text()[at_ - 1] == ' ';
    const std::size_t end = closing_brace();
    if (body) {
      const int first = line_of(begin_ + code_.text().substr(begin_).find_first_not_of(" \n"));
      const std::size_t word = own.find_last_of(" *&\n", name - 1) + 1;
      found_.push_back({std::string(own.substr(word, name - word)), first, line_of(end) - first + 1});
      begin_ = end + 1;
    }
    at_ = end + 1;
  }

  /// Whether what the brace opens is looked into.
  static bool is_scope(std::string_view head) {
    for (const std::string_view word : {"namespace", "extern", "class ", "struct ", "union "})
      if (head.starts_with(word)) return head.find('=') == std::string_view::npos;
    return false;
  }

  static std::size_t behind_template(std::string_view head) {
    if (!head.starts_with("template")) return 0;
    int depth = 0;
    for (std::size_t i = 0; i < head.size(); ++i) {
      if (head[i] == '<') ++depth;
      if (head[i] == '>' && --depth == 0) return std::min(head.find_first_not_of(" \n", i + 1), head.size());
    }
    return 0;
  }

  /// Where a function's name ends: before its parameters. None if this is no function's head.
  static std::size_t name_end(std::string_view head) {
    const std::size_t symbol = head.find("operator");
    if (symbol != std::string_view::npos) return head.find('(', symbol + std::string_view("operator()").size() - 1);
    const std::size_t open = head.find('(');
    return open == 0 || head.substr(0, open).find('=') != std::string_view::npos ? std::string_view::npos : open;
  }

  std::size_t closing_brace() const {
    int depth = 0;
    for (std::size_t i = at_; i < code_.text().size(); ++i) {
      depth += code_.text()[i] == '{' ? 1 : code_.text()[i] == '}' ? -1 : 0;
      if (depth == 0) return i;
    }
    return code_.text().size() - 1;
  }

  int line_of(std::size_t at) const {
    return 1 + static_cast<int>(std::ranges::count(std::string_view(code_.text()).substr(0, at), '\n'));
  }

  Code code_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;  // of what stands before the next brace
  int parentheses_ = 0;
  std::vector<Function> found_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Whether the comment that ends above a line, counted from 1, says why.
bool is_excused(const std::vector<std::string>& lines, int line) {
  for (std::size_t above = static_cast<std::size_t>(line) - 1; above-- > 0;) {
    const std::string_view text = lines[above];
    const std::string_view said = text.substr(std::min(text.find_first_not_of(' '), text.size()));
    if (!said.starts_with("//")) return false;
    if (said.starts_with(kExcuse)) return true;
  }
  return false;
}

using Tree = std::map<std::string, std::string>;  ///< The text of every file by its path in the project.

/// What is too long without an excuse: "FILE" or "FILE: FUNCTION", and a message.
std::map<std::string, std::string> too_long(const Tree& tree) {
  std::map<std::string, std::string> found;
  for (const auto& [path, text] : tree) {
    const std::vector<std::string> lines = lines_of(text);
    if (lines.size() > kFileLines && !lines.front().starts_with(kExcuse))
      found[path] = path + " has " + std::to_string(lines.size()) + " lines";
    if (!path.ends_with(".h") && !path.ends_with(".cpp")) continue;
    const Functions functions(text);
    for (const Function& one : functions.found()) {
      if (one.lines <= kFunctionLines || is_excused(lines, one.line)) continue;
      found[path + ": " + one.name] =
          path + ":" + std::to_string(one.line) + ": " + one.name + " has " + std::to_string(one.lines) + " lines";
    }
  }
  return found;
}

/// What is too long and not listed, and what is listed and not too long.
std::vector<std::string> complaints(const Tree& tree, const std::set<std::string>& listed) {
  std::vector<std::string> found;
  const std::map<std::string, std::string> all = too_long(tree);
  for (const auto& [what, message] : all)
    if (!listed.contains(what)) found.push_back(message);
  for (const std::string& what : listed)
    if (!all.contains(what)) found.push_back(what + " is no longer too long: it leaves the list");
  return found;
}

Tree measured_sources() {
  const fs::path root = EVO_SOURCE_DIR;
  const std::set<std::string> kinds = {".h", ".cpp", ".js", ".css", ".py", ".html"};
  Tree tree;
  for (const char* layer : {"engine", "evaluator", "population", "cli"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / layer)) {
      if (!kinds.contains(entry.path().extension().string())) continue;
      std::ifstream file(entry.path());
      tree[fs::relative(entry.path(), root).string()] = std::string(std::istreambuf_iterator<char>(file), {});
    }
  }
  return tree;
}

std::string body_of(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) text += "  step();\n";
  return text;
}

using Found = std::vector<std::string>;

}  // namespace

TEST_CASE("functions and files are short, or say why they are long") {
  for (const std::string& complaint : complaints(measured_sources(), kStillLong)) FAIL_CHECK(complaint);
}

TEST_CASE("a planted long function is found, wherever it stands") {
  const std::string longest = "void f() {\n" + body_of(58) + "}\n", longer = "void f() {\n" + body_of(59) + "}\n";
  CHECK(complaints({{"a.cpp", longest}}, {}).empty());
  CHECK(complaints({{"a.cpp", longer}}, {}) == Found{"a.cpp:1: f has 61 lines"});
  CHECK(complaints({{"a.cpp", "namespace {\n\ntemplate <int N>\n" + longer + "}\n"}}, {}) ==
        Found{"a.cpp:3: f has 62 lines"});
  CHECK(complaints({{"a.h", "struct A : B {\n  int x = 0;\n\n private:\n  explicit A(int x)\n      : B{x} {\n" +
                                body_of(60) + "  }\n};\n"}},
                   {}) == Found{"a.h:5: A has 63 lines"});
  CHECK(complaints({{"a.cpp", "bool A::operator==(const A& other) const {\n" + body_of(59) + "}\n"}}, {}) ==
        Found{"a.cpp:1: A::operator== has 61 lines"});
}

TEST_CASE("braces in literals and comments are none") {
  const std::string odd = "void f() {\n  g('{', \"{\\\"{\", 1'000, R\"x({)\")x\");  // {\n  /* {\n { */\n}\n";
  CHECK(complaints({{"a.cpp", odd + "void g() {\n" + body_of(59) + "}\n"}}, {}) == Found{"a.cpp:6: g has 61 lines"});
}

TEST_CASE("a table may be long") {
  CHECK(complaints({{"a.cpp", "const std::vector<int> kAll = {\n" + body_of(80) + "};\n"}}, {}).empty());
}

TEST_CASE("a lambda belongs to the function around it") {
  const std::string text = "void f() {\n  const auto g = [] {\n" + body_of(59) + "  };\n}\n";
  CHECK(complaints({{"a.cpp", text}}, {}) == Found{"a.cpp:1: f has 63 lines"});
}

TEST_CASE("a planted long file is found") {
  CHECK(complaints({{"page.js", body_of(500)}}, {}).empty());
  CHECK(complaints({{"page.js", body_of(501)}}, {}) == Found{"page.js has 501 lines"});
}

TEST_CASE("what says why it is long may be long") {
  const std::string function = "void f() {\n" + body_of(80) + "}\n";
  CHECK(complaints({{"a.cpp", "/// Does it.\n// Long because: one case for each.\n" + function}}, {}).empty());
  CHECK(complaints({{"a.cpp", "// Long because: another.\n\n" + function}}, {}) == Found{"a.cpp:3: f has 82 lines"});
  CHECK(complaints({{"a.cpp", "// Long because: one text.\n" + body_of(600)}}, {}).empty());
}

TEST_CASE("what is listed as too long is so") {
  CHECK(complaints({{"a.cpp", body_of(501)}}, {"a.cpp"}).empty());
  CHECK(complaints({{"a.cpp", body_of(500)}}, {"a.cpp", "b.cpp: f"}) ==
        Found{"a.cpp is no longer too long: it leaves the list", "b.cpp: f is no longer too long: it leaves the list"});
}
