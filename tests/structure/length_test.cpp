#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fs = std::filesystem;

namespace {

constexpr int kFunctionLines = 60;
constexpr int kFileLines = 500;
/// Excuses what follows it: a function directly below the comment, or a file that begins with it.
constexpr std::string_view kExcuse = "// Long because: ";

/// What is too long today, as "FILE" or "FILE: FUNCTION". An entry that is no longer too long is to be deleted.
const std::set<std::string> kStillLong = {
};

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
  int line = 0;  ///< Its first one.
  int lines = 0;
};

/// The functions of formatted C++, with their classes' in-class ones. A lambda belongs to the function around it.
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
    // `public:` ends nothing, but it is no part of what follows.
    const bool label = c == ':' && (head().ends_with("public") || head().ends_with("private"));
    ++at_;
    if (parentheses_ == 0 && (c == ';' || c == '}' || label)) begin_ = at_;
  }

  /// What stands before a brace since the last statement, from its first word on.
  std::string_view head() const {
    const std::string_view all = std::string_view(code_.text()).substr(begin_, at_ - begin_);
    const std::size_t first = all.find_first_not_of(" \n");
    if (first == std::string_view::npos) return {};
    return all.substr(first, all.find_last_not_of(" \n") + 1 - first);
  }

  void brace() {
    const std::string_view before = head();
    const std::string own(before.substr(behind_template(before)));
    const bool scope = own.starts_with("namespace") || own.starts_with("extern") ||
                       ((own.starts_with("class ") || own.starts_with("struct ") || own.starts_with("union ")) &&
                        !own.ends_with(')') && own.find('=') == std::string::npos);
    if (scope || own.empty()) {
      begin_ = ++at_;
      return;
    }
    const std::size_t name = name_end(own);
    const bool body = name != std::string::npos && code_.text()[at_ - 1] == ' ';
    const std::size_t end = closing_brace();
    if (body) {
      const int first = line_of(static_cast<std::size_t>(before.data() - code_.text().data()));
      found_.push_back({own.substr(own.find_last_of(" *&\n", name - 1) + 1, name - 1 - own.find_last_of(" *&\n", name - 1)),
                        first, line_of(end) - first + 1});
      begin_ = end + 1;
    }
    at_ = end + 1;
  }

  static std::size_t behind_template(std::string_view head) {
    if (!head.starts_with("template")) return 0;
    int depth = 0;
    for (std::size_t i = 0; i < head.size(); ++i) {
      depth += head[i] == '<' ? 1 : head[i] == '>' ? -1 : 0;
      if (head[i] == '>' && depth == 0) return std::min(head.find_first_not_of(" \n", i + 1), head.size());
    }
    return 0;
  }

  /// Where a function's name ends: at the parenthesis of its parameters. None if this is no function's head.
  static std::size_t name_end(const std::string& head) {
    const std::size_t operator_at = head.find("operator");
    if (operator_at != std::string::npos) return head.find('(', operator_at + 9);
    const std::size_t open = head.find('(');
    if (open == 0 || open == std::string::npos || head.substr(0, open).find('=') != std::string::npos) {
      return std::string::npos;
    }
    return open;
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
    return 1 + static_cast<int>(std::count(code_.text().begin(), code_.text().begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }

  Code code_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;  // of what stands before the next brace
  int parentheses_ = 0;
  std::vector<Function> found_;
};

}  // namespace
#ifdef TRY
#include <iostream>
int main(int n, char** v) {
  for (int i = 1; i < n; ++i) {
    std::ifstream f(v[i]);
    const std::string t{std::istreambuf_iterator<char>(f), {}};
    const Functions fs_(t); for (auto& x : fs_.found()) std::cout << x.lines << " " << v[i] << ":" << x.line << " " << x.name << "\n";
  }
}
#endif
