#include "engine/source/compile_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace evo {
namespace {

/// Options of one dash or two, which have a value or none.
constexpr std::array<std::string_view, 6> kKept = {
    "use_fast_math", "extra-device-vectorization", "fmad", "ftz", "prec-div", "prec-sqrt"};
constexpr std::array<std::string_view, 5> kStandards = {"c++03", "c++11", "c++14", "c++17", "c++20"};
/// What changes messages, debugging and the host's code, or what evo chooses itself.
constexpr std::array<std::string_view, 24> kHarmless = {"O",
                                                        "lineinfo",
                                                        "generate-line-info",
                                                        "w",
                                                        "arch",
                                                        "gpu-architecture",
                                                        "gencode",
                                                        "generate-code",
                                                        "code",
                                                        "I",
                                                        "include-path",
                                                        "Xcompiler",
                                                        "W",
                                                        "diag-suppress",
                                                        "expt-relaxed-constexpr",
                                                        "expt-extended-lambda",
                                                        "extended-lambda",
                                                        "disable-warnings",
                                                        "resource-usage",
                                                        "keep",
                                                        "source-in-ptx",
                                                        "default-device",
                                                        "restrict",
                                                        "ccbin"};
/// Of those, the ones whose value may stand behind a blank.
constexpr std::array<std::string_view, 5> kWithValue = {"I", "gencode", "Xcompiler", "arch", "ccbin"};

std::vector<std::string> option_words(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

bool is_harmless(std::string_view name) {
  return std::ranges::any_of(kHarmless, [&](std::string_view harmless) {
    const bool short_one = harmless.size() == 1;  // -O3, -Ifolder, -Wall
    return short_one ? name.starts_with(harmless) : name.substr(0, name.find('=')) == harmless;
  });
}

bool is_of_ptxas(std::string_view name) {
  return name == "Xptxas" || name == "ptxas-options";
}

[[noreturn]] void refuse_option(std::string_view option) {
  throw usage_error(
      fmt::format("'{}' is not supported; there are -use_fast_math, -std=c++20, -maxrregcount=N, -DNAME=VALUE, -fmad=, "
                  "-ftz=, -prec-div=, -prec-sqrt=, -extra-device-vectorization; -O, -arch, -lineinfo, -I, -w and "
                  "-Xcompiler change nothing",
                  option));
}

void read_option(std::string_view option, CompileOptions& found) {
  if (option.find("${") != std::string_view::npos && !option.starts_with('-')) {
    found.kept.emplace_back(option);
    return;
  }
  if (!option.starts_with('-')) refuse_option(option);
  std::string_view text = option;
  text.remove_prefix(text.starts_with("--") ? 2 : 1);
  const std::string_view name = text.substr(0, text.find('='));
  const std::string_view value = name.size() < text.size() ? trim(text.substr(name.size() + 1)) : std::string_view();
  if (text.starts_with('D') || name == "define-macro") {
    const std::string_view macro = name == "define-macro" ? value : trim(text.substr(1));
    const auto equals = macro.find('=');
    found.macros.emplace_back(macro.substr(0, equals), equals == macro.npos ? "1" : macro.substr(equals + 1));
  } else if (name == "maxrregcount" && !value.empty()) {
    found.max_registers = value;
  } else if (name == "std" && (std::ranges::find(kStandards, value) != kStandards.end() || value.starts_with("${"))) {
    found.kept.push_back(fmt::format("-std={}", value));
  } else if (std::ranges::find(kKept, name) != kKept.end()) {
    const bool valued = name != kKept[0] && name != kKept[1];
    if (valued != !value.empty()) refuse_option(option);
    found.kept.push_back(value.empty() ? fmt::format("-{}", name) : fmt::format("-{}={}", name, value));
  } else if (is_of_ptxas(name)) {
    // Messages, and the level that evo has; others would change the code.
    for (const std::string& part : split(value, ','))
      if (part != "-v" && part != "--verbose" && !part.starts_with("-warn") && part != "-O3") refuse_option(option);
    if (value.empty()) refuse_option(option);
  } else if (!is_harmless(text)) {
    refuse_option(option);
  }
}

}  // namespace

CompileOptions read_compile_options(const std::vector<std::string>& options) {
  CompileOptions found;
  // "-I folder -std c++20" may be one text, and "-std", "c++20" two.
  std::vector<std::string> words;
  for (const std::string& option : options) {
    const bool one = option.find("${") != std::string::npos;
    for (const std::string& word : one ? std::vector<std::string>{option} : option_words(option)) words.push_back(word);
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i];
    const std::string_view name = std::string_view(word).substr(std::min(word.find_first_not_of('-'), word.size()));
    const bool takes_next = i + 1 < words.size() && !words[i + 1].starts_with('-');
    if (is_of_ptxas(name) && i + 1 < words.size())
      word += "=" + words[++i];
    else if (takes_next && (name == "std" || name == "maxrregcount" || name == "D"))
      word += (name == "D" ? "" : "=") + words[++i];
    else if (std::ranges::find(kWithValue, name) != kWithValue.end() && i + 1 < words.size())
      ++i;
    read_option(word, found);
  }
  return found;
}

std::string compile_options_line(const std::vector<std::string>& kept) {
  return kept.empty() ? "" : fmt::format("{}{}\n", kCompileOptions, fmt::join(kept, " "));
}

std::vector<std::string> compile_options_in(std::string_view source) {
  std::vector<std::string> options;
  for (std::size_t at = source.find(kCompileOptions); at != source.npos; at = source.find(kCompileOptions, at + 1)) {
    if (at > 0 && source[at - 1] != '\n') continue;
    const std::size_t begin = at + kCompileOptions.size();
    for (const std::string& word : option_words(source.substr(begin, source.find('\n', begin) - begin)))
      options.push_back(word);
  }
  CompileOptions found = read_compile_options(options);
  if (!found.macros.empty()) throw usage_error(fmt::format("'-D{}': write #define instead", found.macros[0].first));
  if (!found.max_registers.empty()) throw usage_error("-maxrregcount is max_registers of the family");
  return found.kept;
}

}  // namespace evo
