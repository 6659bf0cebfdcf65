#include "engine/source/host_code.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <string_view>
#include <vector>

#include "engine/base/stretches.h"
#include "engine/base/text.h"

namespace evo {
namespace {

/// Where a comment, text or character that begins at `at` ends; `at` where none begins.
std::size_t end_of_text(const std::string& code, std::size_t at) {
  const auto behind = [&](std::string_view end, std::size_t from) {
    const std::size_t found = code.find(end, from);
    return found == std::string::npos ? code.size() : found + end.size();
  };
  if (code.compare(at, 2, "//") == 0) return std::min(code.find('\n', at), code.size());
  if (code.compare(at, 2, "/*") == 0) return behind("*/", at + 2);
  // A ' between digits separates them.
  if (code[at] != '"' && (code[at] != '\'' || (at > 0 && std::isalnum(static_cast<unsigned char>(code[at - 1])) != 0)))
    return at;
  std::size_t end = at + 1;
  while (end < code.size() && code[end] != code[at] && code[end] != '\n') end += code[end] == '\\' ? 2 : 1;
  return std::min(end + 1, code.size());
}

/// Where the preprocessor's line that begins at `at` ends, with the lines that continue it.
std::size_t end_of_directive(const std::string& code, std::size_t at) {
  std::size_t end = code.find('\n', at);
  while (end != std::string::npos && end > 0 && code[end - 1] == '\\') end = code.find('\n', end + 1);
  return std::min(end, code.size());
}

std::string without_comments_and_texts(const std::string& code) {
  std::string rest;
  for (std::size_t at = 0; at < code.size();) {
    const std::size_t end = end_of_text(code, at);
    if (end == at) rest += code[at++];
    at = std::max(at, end);
  }
  return rest;
}

/// Whether a declaration or function is none of the device.
bool is_for_host(const std::string& code) {
  static const std::regex kHostWords(
      R"(<<<|\b(torch|at|c10|py|pybind11)::|\bPYBIND11_MODULE\b|\bTORCH_LIBRARY|\bcuda(Stream|Error|Event)_t\b)"
      R"(|\bcuda[A-Z]\w*\s*\(|\bint\s+main\s*\(|\b(namespace\s+\w+\s*=|using\s+namespace)\s*(torch|at|c10|pybind11)\b)"
      R"(|\bstd::(vector|string|cout|cerr|endl|\w*map|\w*set|deque|list|unique_ptr|shared_ptr|make_unique|make_shared)"
      R"(|mutex|thread|chrono|mt19937\w*|random_device|\w+_distribution|\w*stream|to_string|\w+_error|exception)\b)");
  for (const char* word : {"__global__", "__device__"})
    if (code.find(word) != std::string::npos) return false;
  return std::regex_search(without_long_stretches(code), kHostWords);
}

/// A header of the host's, which the compiler of kernels does not find.
bool includes_hosts_header(const std::string& directive) {
  static const std::regex kHosts(
      R"(^\s*#\s*include\s*["<]((torch|ATen|c10|pybind11|THC|caffe2)/.*|Python\.h|iostream|fstream|sstream|iomanip|string)"
      R"(|string_view|vector|map|unordered_map|set|unordered_set|deque|list|queue|stack|memory|chrono|random|thread|mutex)"
      R"(|stdexcept|exception|optional|variant|iterator|ctime|time\.h|sys/\w+\.h|unistd\.h|omp\.h|getopt\.h|helper_\w+\.h)"
      R"(|cublas\w*\.h|cudnn\w*\.h|cuda_profiler_api\.h|nvToolsExt\.h)[">])");
  return directive.size() < kLongestStretch && std::regex_search(directive, kHosts);
}

/// Whether device code needs nothing of the line.
bool is_hosts_directive(const std::string& directive) {
  static const std::regex kRuntime(
      R"(^\s*#\s*include\s*["<](cuda_runtime(_api)?|device_launch_parameters|driver_types)\.h[">])");
  return includes_hosts_header(directive) ||
         (directive.size() < kLongestStretch && std::regex_search(directive, kRuntime));
}

/// The name of a function that says nothing of where it runs; empty for other parts. Declarations count.
std::string plain_function(const std::string& code) {
  static const std::regex kOther(
      R"(__\w{1,40}__|\b(constexpr|template|struct|class|enum|union|typedef|using|namespace|operator|asm)\b)");
  const std::size_t end = code.find_first_of("{;");
  const std::string_view head = trim(std::string_view(code).substr(0, end));
  const std::size_t open = head.find('('), close = head.rfind(')');
  if (end == code.npos || close == head.npos) return {};
  const std::string_view behind = trim(head.substr(close + 1)), named = trim(head.substr(0, open));
  const auto begin = static_cast<std::size_t>(
      std::find_if_not(named.rbegin(), named.rend(), is_identifier_character).base() - named.begin());
  const std::string_view type = trim(named.substr(0, begin));
  const auto is_of_type = [](char c) {
    return is_identifier_character(c) || std::string_view(":<>,*& \t\r\n").find(c) != std::string_view::npos;
  };
  if (type.empty() || begin == named.size() || !std::ranges::all_of(type, is_of_type)) return {};
  if (!(behind.empty() || behind == "noexcept") || std::regex_search(std::string(head), kOther)) return {};
  return std::string(named.substr(begin));
}

std::vector<std::string_view> words_of(std::string_view code) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < code.size();) {
    const auto end = static_cast<std::size_t>(
        std::find_if_not(code.begin() + static_cast<std::ptrdiff_t>(at), code.end(), is_identifier_character) -
        code.begin());
    if (end > at) words.push_back(code.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// Goes through the parts of a file outside of functions: declarations, functions, the preprocessor's lines. Namespaces
/// and extern "C" { } are entered.
class PartReader {
 public:
  explicit PartReader(const std::string& code) : code_(code) {
    read();
    leave_out_callers();
    keep_named_functions();
  }

  /// Whether a part is the host's beyond doubt.
  bool any_of_host() const { return any_of_host_; }

  std::string device_parts() const {
    std::string result;
    // What is not kept leaves its ends of lines.
    for (const Part& part : parts_)
      for (std::size_t at = part.begin; at < part.end; ++at)
        if (part.kept || code_[at] == '\n') result += code_[at];
    return result;
  }

 private:
  struct Part {
    std::size_t begin, end;
    bool kept;
    std::string function;  ///< A function that device code may call or not.
    std::string code;
  };

  void read() {
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t at = 0; at < code_.size();) {
      const char c = code_[at];
      if (const std::size_t end = end_of_text(code_, at); end != at) {
        at = end;
      } else if (c == '#' && depth == 0 && starts_line(at)) {
        take(begin, at);
        begin = end_of_directive(code_, at);
        take_directive(at, begin);
        at = begin;
      } else if (c == '{' && depth == 0 && is_entered(begin, at)) {
        keep(begin, ++at);
        begin = at;
      } else if (c == '{') {
        ++depth;
        ++at;
      } else if (c == '}' && depth == 0) {  // Of what was entered.
        take(begin, at);
        keep(at, at + 1);
        begin = ++at;
      } else if (c == '}') {
        --depth;
        ++at;
        if (depth > 0 || continues(at)) continue;
        take(begin, at);
        begin = at;
      } else if (c == ';' && depth == 0) {
        take(begin, ++at);
        begin = at;
      } else {
        ++at;
      }
    }
    take(begin, code_.size());
  }

  bool starts_line(std::size_t at) const {
    const std::size_t before = code_.find_last_not_of(" \t", at == 0 ? 0 : at - 1);
    return at == 0 || before == std::string::npos || code_[before] == '\n';
  }

  bool is_entered(std::size_t begin, std::size_t brace) const {
    static const std::regex kEntered(R"((^|\s)(namespace(\s+[\w:]+)?|extern\s*"C")\s*$)");
    const std::string head = code_.substr(begin, brace - begin);
    return head.size() < kLongestStretch && std::regex_search(head, kEntered);
  }

  /// Whether a declaration goes on behind its brace, as that of a struct does up to its semicolon.
  bool continues(std::size_t at) const {
    const std::size_t next = code_.find_first_not_of(" \t\r\n", at);
    return next != std::string::npos && (code_[next] == ';' || code_[next] == '=');
  }

  void keep(std::size_t begin, std::size_t end) { parts_.push_back({begin, end, true, {}, {}}); }

  void take(std::size_t begin, std::size_t end) {
    const std::string code = without_comments_and_texts(code_.substr(begin, end - begin));
    const bool host = is_for_host(code);
    any_of_host_ = any_of_host_ || host;
    const std::string function = plain_function(code);
    if (host && !function.empty()) hosts_.insert(function);
    parts_.push_back(
        {begin, end, !host && function.empty(), host ? std::string() : function, host ? std::string() : code});
  }

  void take_directive(std::size_t begin, std::size_t end) {
    const std::string line = code_.substr(begin, end - begin);
    any_of_host_ = any_of_host_ || includes_hosts_header(line);
    parts_.push_back({begin, end, !is_hosts_directive(line), {}, line});
  }

  /// Of functions that say nothing, those that kept parts name are the device's.
  void keep_named_functions() {
    std::multimap<std::string_view, Part*> others;
    std::vector<const Part*> kept;
    for (Part& part : parts_) {
      if (part.kept) kept.push_back(&part);
      if (!part.kept && !part.function.empty()) others.emplace(part.function, &part);
    }
    while (!kept.empty()) {
      const Part& part = *kept.back();
      kept.pop_back();
      for (const std::string_view word : words_of(part.code)) {
        const auto [begin, end] = others.equal_range(word);
        for (auto named = begin; named != end; named = others.erase(named)) {
          named->second->kept = true;
          kept.push_back(named->second);
        }
      }
    }
  }

  /// Classes and templates that call functions of the host are the host's, too.
  void leave_out_callers() {
    for (Part& part : parts_)
      if (part.kept && part.code.find('{') != std::string::npos && part.code.find("__") == std::string::npos)
        part.kept =
            std::ranges::none_of(words_of(part.code), [&](std::string_view word) { return hosts_.contains(word); });
  }

  const std::string& code_;
  std::vector<Part> parts_;
  std::set<std::string, std::less<>> hosts_;  ///< Functions beyond doubt.
  bool any_of_host_ = false;
};

}  // namespace

bool has_host_code(const std::string& text) {
  return PartReader(text).any_of_host();
}

std::string device_code(const std::string& text) {
  return PartReader(text).device_parts();
}

}  // namespace evo
