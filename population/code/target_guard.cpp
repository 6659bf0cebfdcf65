#include "population/code/target_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/stretches.h"
#include "engine/base/text.h"
#include "engine/source/preprocessor_lines.h"
#include "engine/source/source_mutation.h"

namespace evo {
namespace {

/// What PTX ISA 9.0 has for sm_90a, sm_100a, sm_120a and their families alone, and libraries that use it.
constexpr std::string_view kSpecific[] = {
    "wgmma", "setmaxnreg", "tcgen05", "cta_group", "block_scale", "kind::", "e2m1",     "e2m3",  "e3m2",
    "ue8m0", "redux.sync", "gather4", "im2col::w", "m16n16",      "m8n16",  "cuda/ptx", "cute/", "cutlass/"};

bool has_specific(const ExportRequest& request) {
  return std::ranges::any_of(request.programs, [](const Program& program) {
    return std::ranges::any_of(kSpecific, [&](auto word) { return program.source.find(word) != std::string::npos; });
  });
}

/// Code without texts: what is left of them has braces.
std::string without_texts(std::string code) {
  bool in_text = false;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const bool quote = code[i] == '"';
    if (in_text && code[i] == '\\' && i + 1 < code.size()) code[i++] = ' ';
    if ((quote || in_text) && code[i] != '\n') code[i] = ' ';
    in_text = code[i] != '\n' && in_text != quote;
  }
  return code;
}

/// Finds the device functions of a source, and writes it with them left out.
class GuardWriter {
 public:
  GuardWriter(const std::string& source, const std::string& macro)
      : source_(source), code_(without_texts(code_only(source))), macro_(macro) {}

  /// Empty where the braces cannot be followed.
  std::string write() {
    if (!find()) return {};
    join_neighbours();
    std::string text;
    std::size_t done = 0;
    for (const Part& part : parts_) {
      const std::size_t begin = part.kernel ? after_line(part.begin + 1) : before_line(part.begin);
      const std::size_t end = part.kernel ? before_line(part.end - 1) : after_line(part.end);
      if (begin > end || !has_whole_conditionals(begin, end)) return {};
      add(text, source_.substr(done, begin - done), fmt::format("#ifndef {}\n", macro_));
      add(text, source_.substr(begin, end - begin), part.kernel ? "#else\n  __trap();\n#endif\n" : "#endif\n");
      done = end;
    }
    return text + source_.substr(done);
  }

 private:
  /// A function with what stands before its name, or a kernel's body with its braces.
  struct Part {
    std::size_t begin, end;
    bool kernel;
  };

  static void add(std::string& text, const std::string& code, const std::string& line) {
    text += code;
    if (!text.empty() && text.back() != '\n') text += '\n';
    text += line;
  }

  bool find() {
    std::size_t head = 0;
    int open = 0;
    for (std::size_t i = 0; i < code_.size(); ++i) {
      if (code_[i] == ';') head = i + 1;
      if (code_[i] == '}' && --open < 0) return false;
      if (code_[i] == '}') head = i + 1;
      if (code_[i] != '{') continue;
      const std::size_t start = std::min(code_.find_first_not_of(" \t\r\n", head), i);
      const std::string words = without_long_stretches(code_.substr(start, i - start));
      if (is_entered(words)) {
        ++open;
        head = i + 1;
        continue;
      }
      const std::size_t close = end_of_braces(i);
      if (close == std::string::npos) return false;
      const bool kernel = words.find("__global__") != std::string::npos;
      if (is_device_function(words)) parts_.push_back({kernel ? i : start, close, kernel});
      i = close - 1;
      if (is_function(words)) head = close;
    }
    return open == 0;
  }

  /// Namespaces, extern "C", whose text is left out, and types.
  static bool is_entered(const std::string& words) {
    static const std::regex kEntered(
        R"(^\s*((inline\s+)?namespace\b[\w\s:]*|extern\s*|(template\s*<.*>\s*)?(typedef\s+)?(struct|class|union)\b[^]*)$)");
    return std::regex_match(words, kEntered);
  }

  /// Whether a brace behind these words opens a function's body, and no list of values.
  static bool is_function(const std::string& words) {
    static const std::regex kEnd(R"(\)\s*((const|noexcept|override|final)\s*)*(->[^(){}]*)?$)");
    return std::regex_search(words, kEnd);
  }

  static bool is_device_function(const std::string& words) {
    static const std::regex kOther(R"(\b(constexpr|consteval|__host__)\b)");
    if (!is_function(words)) return false;
    if (words.find("__global__") != std::string::npos) return true;
    return words.find("__device__") != std::string::npos && !std::regex_search(words, kOther);
  }

  std::size_t end_of_braces(std::size_t at) const {
    int depth = 0;
    for (; at < code_.size(); ++at) {
      if (code_[at] == '{') ++depth;
      if (code_[at] == '}' && --depth == 0) return at + 1;
    }
    return std::string::npos;
  }

  /// Functions with nothing but space between them share their lines.
  void join_neighbours() {
    std::vector<Part> joined;
    for (const Part& part : parts_) {
      const bool near = !joined.empty() && !joined.back().kernel && !part.kernel &&
                        source_.find_first_not_of(" \t\r\n", joined.back().end) == part.begin;
      if (near)
        joined.back().end = part.end;
      else
        joined.push_back(part);
    }
    parts_ = std::move(joined);
  }

  /// The beginning of the line of `at` where nothing but space stands before it, else `at`.
  std::size_t before_line(std::size_t at) const {
    const std::size_t line = at == 0 ? 0 : source_.rfind('\n', at - 1) + 1;  // npos + 1 is 0.
    return trim(std::string_view(source_).substr(line, at - line)).empty() ? line : at;
  }

  /// The beginning of the next line where nothing but a remark stands behind `at`, else `at`.
  std::size_t after_line(std::size_t at) const {
    const std::size_t end = std::min(source_.find('\n', at), source_.size());
    const std::string_view rest = trim(std::string_view(source_).substr(at, end - at));
    const bool plain = (rest.empty() || rest.starts_with("//")) && !rest.ends_with('\\');
    return plain ? std::min(end + 1, source_.size()) : at;
  }

  /// Whether each #if between the two has its #endif there.
  bool has_whole_conditionals(std::size_t begin, std::size_t end) const {
    int depth = 0;
    for (const std::string& line : split(source_.substr(begin, end - begin), '\n')) {
      const std::string_view plain = trim(line);
      if (!plain.starts_with('#')) continue;
      const std::string_view word = trim(plain.substr(1));
      if (word.starts_with("if")) ++depth;
      if (depth == 0 && word.starts_with("el")) return false;
      if (word.starts_with("endif") && --depth < 0) return false;
    }
    return depth == 0;
  }

  const std::string& source_;
  std::string code_;
  std::string macro_;
  std::vector<Part> parts_;
};

}  // namespace

TargetGuard target_guard(std::span<const ExportRequest> requests) {
  static const std::regex kArch("(?:sm|compute)_([0-9]{2,3})([af]?)");
  const std::string& arch = requests.front().provenance.device.arch;
  std::smatch found;
  if (!std::regex_match(arch, found, kArch)) return {};
  const int number = std::stoi(found[1]);
  const std::string plain = fmt::format("sm_{}", number);
  const std::string feature = found[2];
  if (feature.empty() || std::ranges::none_of(requests, has_specific))
    return {upper("EVO_NO_" + plain), fmt::format("__CUDA_ARCH__ < {}0", number), plain + " and later"};
  const std::string macro = upper("EVO_NO_" + plain + feature);
  if (feature == "a") return {macro, fmt::format("!defined(__CUDA_ARCH_FEAT_SM{}_ALL)", number), arch};
  return {macro,
          fmt::format("!(defined(__CUDA_ARCH_FAMILY_SPECIFIC__) && __CUDA_ARCH_FAMILY_SPECIFIC__ >= {}0 && "
                      "__CUDA_ARCH_FAMILY_SPECIFIC__ < {}00)",
                      number, number / 10 + 1),
          fmt::format("the family {}", arch)};
}

std::string definition_of(const TargetGuard& guard) {
  if (guard.macro.empty()) return {};
  return fmt::format(
      "\n// The kernels are for {}. Other targets that the compiler is asked for get kernels that trap, and the "
      "launcher\n// answers cudaErrorNoKernelImageForDevice there.\n"
      "#if defined(__CUDA_ARCH__) && ({})\n#define {}\n"
      "#pragma nv_diag_suppress 177  // Constants that only the kernels use.\n#endif\n",
      guard.targets, guard.condition, guard.macro);
}

std::string guarded_source(const std::string& source, const std::string& macro) {
  if (macro.empty()) return source;
  std::string guarded = GuardWriter(source, macro).write();
  return guarded.empty() ? source : guarded;
}

}  // namespace evo
