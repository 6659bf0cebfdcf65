#include "engine/source/single_precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace evo::embedded {
/// single_precision.cuh
extern const std::string_view single_precision;
}  // namespace evo::embedded

namespace evo {
namespace {

bool continues_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Goes through the words of a source that are not in comments, strings and #include lines.
class Rewriter {
 public:
  Rewriter(const std::string& source, const std::string& kernel) : source_(source), kernel_(kernel) {}

  InSinglePrecision rewritten() {
    while (at_ < source_.size()) step();
    return {std::move(text_), had_doubles_};
  }

 private:
  void step() {
    if (starts("//")) return copy_to(source_.find('\n', at_));
    if (starts("/*")) return copy_past("*/", 2);
    if (source_[at_] == '"' || source_[at_] == '\'') return copy_literal();
    if (source_[at_] == '#') {
      const std::size_t word = source_.find_first_not_of(" \t", at_ + 1);
      const bool include = word != std::string::npos && source_.compare(word, 7, "include") == 0;
      return include ? copy_to(source_.find('\n', at_)) : copy(1);
    }
    if (!continues_word(source_[at_])) return copy(1);
    if (std::isdigit(static_cast<unsigned char>(source_[at_])) != 0) return copy(number_at(at_));
    std::size_t end = at_;
    while (end < source_.size() && continues_word(source_[end])) ++end;
    const std::string_view word(source_.data() + at_, end - at_);
    if (word == "__global__") return copy_kernel();
    if ((word != "float" && word != "double") || is_pointer(end)) return copy(word.size());
    had_doubles_ = had_doubles_ || word == "double";
    text_ += "evo_single";
    at_ = end;
  }

  /// Whether a type that ends here is pointed to.
  bool is_pointer(std::size_t at) const {
    for (const std::string_view between : {"const", "volatile", ""}) {
      at = std::min(source_.find_first_not_of(" \t\n", at), source_.size());
      if (!between.empty() && source_.compare(at, between.size(), between) == 0) at += between.size();
    }
    return at < source_.size() && source_[at] == '*';
  }

  /// The characters of a number, which may have a sign in its exponent.
  std::size_t number_at(std::size_t at) const {
    const std::size_t begin = at;
    const auto is_exponent = [&](char c) { return c == 'e' || c == 'E' || c == 'p' || c == 'P'; };
    while (at < source_.size() && (continues_word(source_[at]) || source_[at] == '.' ||
                                   ((source_[at] == '+' || source_[at] == '-') && is_exponent(source_[at - 1]))))
      ++at;
    return at - begin;
  }

  bool starts(std::string_view text) const { return source_.compare(at_, text.size(), text) == 0; }
  void copy(std::size_t count) { copy_to(at_ + count); }
  void copy_to(std::size_t end) {
    end = std::min(end, source_.size());
    text_.append(source_, at_, end - at_);
    at_ = end;
  }
  void copy_past(std::string_view mark, std::size_t from) {
    const std::size_t found = source_.find(mark, at_ + from);
    copy_to(found == std::string::npos ? found : found + mark.size());
  }
  void copy_literal() {
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != source_[at_]) end += source_[end] == '\\' ? 2 : 1;
    copy_to(end + 1);
  }

  /// The launch says what a kernel's parameters are. Another kernel is of no use, and need not compile.
  void copy_kernel() {
    const std::size_t begin = at_;
    copy_to(source_.find_first_of("{;", at_));
    const std::string_view head(source_.data() + begin, at_ - begin);
    if (at_ >= source_.size() || source_[at_] == ';' || names(head, kernel_)) return;
    const std::size_t body = text_.size();
    int depth = 0;
    do {
      if (starts("//")) copy_to(source_.find('\n', at_));
      if (starts("/*")) copy_past("*/", 2);
      if (at_ >= source_.size()) return;
      depth += source_[at_] == '{' ? 1 : source_[at_] == '}' ? -1 : 0;
      copy(1);
    } while (depth > 0 && at_ < source_.size());
    text_.replace(body, std::string::npos, "{}");
  }

  static bool names(std::string_view text, std::string_view name) {
    for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1))
      if ((at == 0 || !continues_word(text[at - 1])) &&
          (at + name.size() == text.size() || !continues_word(text[at + name.size()])))
        return true;
    return false;
  }

  const std::string& source_;
  const std::string& kernel_;
  std::string text_;
  std::size_t at_ = 0;
  bool had_doubles_ = false;
};

std::string_view rounded_operand(DType operands) {
  switch (operands) {
    case DType::bf16:
      return "__bfloat162float(__float2bfloat16(x))";
    case DType::f16:
      return "__half2float(__float2half(x))";
    default:
      return "(x)";
  }
}

}  // namespace

std::string single_precision_header(const SinglePrecision& how, bool at_random) {
  if (how.plain) return "using evo_single = float;\n";
  return fmt::format(
      "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#define EVO_OPERAND(x) {}\n#define EVO_TANH_ERROR {}\n"
      "#define EVO_AT_RANDOM {}\n{}",
      rounded_operand(how.operands), how.coarse_tanh ? "0x1p-11f" : "0x1p-22f", at_random ? 1 : 0,
      embedded::single_precision);
}

InSinglePrecision in_single_precision(const std::string& source, const std::string& kernel) {
  return Rewriter(source, kernel).rewritten();
}

}  // namespace evo
