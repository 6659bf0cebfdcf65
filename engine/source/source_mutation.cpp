#include "engine/source/source_mutation.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <regex>
#include <utility>

#include "engine/base/stretches.h"
#include "engine/base/text.h"

namespace evo {
namespace {

// --- What is code

using Blanks = std::vector<std::pair<std::size_t, std::size_t>>;  ///< Begins and ends.

std::string with_blanks(std::string_view source, const Blanks& blanks) {
  std::string text(source);
  for (const auto& [begin, end] : blanks)
    for (std::size_t i = begin; i < std::min(end, text.size()); ++i)
      if (text[i] != '\n') text[i] = ' ';
  return text;
}

/// Where a directive ends: a backslash continues it in the next line.
std::size_t end_of_directive(std::string_view source, std::size_t at) {
  std::size_t end = std::min(source.find('\n', at), source.size());
  while (end < source.size() && source[end - 1] == '\\') end = std::min(source.find('\n', end + 1), source.size());
  return end;
}

std::size_t end_of_text(std::string_view source, std::size_t at) {
  std::size_t end = at + 1;
  while (end < source.size() && source[end] != source[at] && source[end] != '\n') end += source[end] == '\\' ? 2 : 1;
  return end + 1;
}

/// What a source has beside its code.
struct Remarks {
  Blanks texts;  ///< Comments and texts.
  Blanks directives;
};

Remarks remarks_of(std::string_view source) {
  Remarks remarks;
  bool line_start = true;
  std::size_t statement = 0;  // Where it begins.
  for (std::size_t i = 0; i < source.size();) {
    const char c = source[i];
    std::size_t end = i + 1;
    if (source.substr(i, 2) == "//") {
      remarks.texts.emplace_back(i, end = std::min(source.find('\n', i), source.size()));
    } else if (source.substr(i, 2) == "/*") {
      remarks.texts.emplace_back(i, end = std::min(source.find("*/", i + 2), source.size() - 2) + 2);
    } else if (line_start && c == '#') {
      remarks.directives.emplace_back(i, end = end_of_directive(source, i));
    } else if (c == '"' || c == '\'') {
      end = end_of_text(source, i);
      const bool of_asm = source.substr(statement, i - statement).find("asm") != std::string_view::npos;
      if (!of_asm) remarks.texts.emplace_back(i, end);
    } else if (c == ';' || c == '{' || c == '}') {
      statement = end;
    }
    line_start = c == '\n' || (line_start && (c == ' ' || c == '\t'));
    i = end;
  }
  return remarks;
}

// --- What of it is live

/// Divides a source into the parts that a program may lack.
class Parts {
 public:
  Parts(std::string_view source, const Remarks& remarks) : code_(with_blanks(source, remarks.texts)) {
    auto directive = remarks.directives.begin();
    for (std::size_t i = 0; i < code_.size(); ++i) {
      if (directive != remarks.directives.end() && i == directive->first) {
        preprocess(directive->first, directive->second);
        i = directive->second;
        ++directive;
      } else if (code_[i] == '{') {
        open(i);
      } else if (code_[i] == '}') {
        close(i);
      } else if (code_[i] == ';') {
        head_ = i + 1;
      }
    }
  }

  const Blanks& all() const { return parts_; }

 private:
  struct Brace {
    std::size_t begin = 0;
    bool is_part = false;
    bool in_function = false;
    bool chosen = false;  ///< By `if constexpr`.
  };
  struct Branch {
    std::size_t begin = 0;
    std::vector<Brace> braces;  ///< That are open ahead of all branches.
  };

  void preprocess(std::size_t begin, std::size_t end) {
    const std::string_view word = trim(std::string_view(code_).substr(begin + 1, end - begin - 1));
    if (word.starts_with("if")) {
      branches_.push_back({end, braces_});
    } else if (!branches_.empty() && (word.starts_with("el") || word.starts_with("endif"))) {
      parts_.emplace_back(branches_.back().begin, begin);
      branches_.back().begin = end;
      if (word.starts_with("endif"))
        branches_.pop_back();
      else
        braces_ = branches_.back().braces;
    }
  }

  void open(std::size_t at) {
    static const std::regex kType(R"(^\s*(template\s*<.*>\s*)?(struct|class|union|enum|namespace)\b)");
    static const std::regex kConstexprIf(R"(^\s*(else\s+)?if\s+constexpr\b)");
    static const std::regex kElse(R"(^\s*else\b)");
    static const std::regex kConstexpr(R"(\bconst(expr|eval)\b)");
    const std::string head = without_long_stretches(code_.substr(head_, at - head_));
    Brace brace{.begin = at, .in_function = !braces_.empty() && braces_.back().in_function};
    if (brace.in_function) {
      brace.chosen = std::regex_search(head, kConstexprIf) || (closed_chosen_ && std::regex_search(head, kElse));
      brace.is_part = brace.chosen;
    } else if (head.find('(') != std::string::npos && !trim(head).ends_with('=') && !std::regex_search(head, kType)) {
      brace.in_function = true;
      brace.is_part = !std::regex_search(head, kConstexpr);
    }
    braces_.push_back(brace);
    head_ = at + 1;
    closed_chosen_ = false;
  }

  void close(std::size_t at) {
    head_ = at + 1;
    if (braces_.empty()) return;
    if (braces_.back().is_part) parts_.emplace_back(braces_.back().begin, at + 1);
    closed_chosen_ = braces_.back().chosen;
    braces_.pop_back();
  }

  const std::string code_;
  Blanks parts_;
  std::vector<Brace> braces_;
  std::vector<Branch> branches_;
  std::size_t head_ = 0;  ///< Where what stands ahead of the next brace begins.
  bool closed_chosen_ = false;
};

int line_at(std::string_view text, std::size_t offset) {
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, offset), '\n'));
}

// --- How it is changed

struct Operator {
  std::string_view name;
  std::string_view pattern;      ///< The first group is replaced.
  std::string_view replacement;  ///< With $1 for the first group, $2 and $3 for groups within it.
};

constexpr std::string_view kNoBarrier = "a barrier is dropped", kNoFence = "a fence is dropped";
constexpr std::string_view kNoWait = "a wait is dropped";
constexpr std::string_view kToZero = "rounding to nearest becomes towards zero";
constexpr std::string_view kToNearest = "rounding towards zero becomes to nearest";
constexpr std::string_view kTiesAway = "ties are rounded away from zero", kTiesEven = "ties are rounded to even";
constexpr std::string_view kUp = "rounding down becomes up", kDown = "rounding up becomes down";
constexpr std::string_view kBits11 = "the sum has 11 bits of precision", kBits8 = "the sum has 8 bits of precision";
constexpr std::string_view kHalfGuard = "half of a guard is dropped", kGuard = "a guard is dropped";
constexpr std::string_view kAfter11 = "$2 = __uint_as_float((__float_as_uint($2 + ($3)) + 0x1000u) & 0xffffe000u);";
constexpr std::string_view kAfter8 = "$2 = __uint_as_float((__float_as_uint($2 + ($3)) + 0x8000u) & 0xffff0000u);";
constexpr std::string_view kSum = R"([;{})]\s*(([\w.]+(?:\[[^\[\]]*\])*) ?\+= ?([^;={}]*);))";

// Binary operators stand between blanks or letters; those of template lists and casts do not.
constexpr std::array kOperators = {
    Operator{kNoBarrier, R"((__syncthreads\(\);|__syncwarp\([^;]*\);))", ";"},
    Operator{kNoBarrier, R"(\w(\.sync\(\);))", ";"},
    Operator{kNoFence, R"((__threadfence(?:_block|_system)?\(\);))", ";"},
    Operator{kNoWait, R"(\b((?:\w*wait\w*|\w*commit\w*)(?:<[^;<>]*>)?\([^;{}]*\);))", ";"},
    Operator{"< becomes <=", R"(\w\)?\]? (<) \(?\w)", "<="},
    Operator{"< becomes <=", R"(\b(?:if|for|while) ?\([^{}<>]*?[\w)\]](<)\w)", "<="},
    Operator{"<= becomes <", R"([^<](<=))", "<"},
    Operator{"> becomes >=", R"(\w\)?\]? (>) \(?\w)", ">="},
    Operator{">= becomes >", R"([^>](>=))", ">"},
    Operator{"== becomes !=", R"((==))", "!="},
    Operator{"+ becomes -", R"(\w\)?\]? (\+) \(?\w)", "-"},
    Operator{"+ becomes -", R"([\w)\]](\+)[\w(])", "-"},
    Operator{"- becomes +", R"(\w\)?\]? (-) \(?\w)", "+"},
    Operator{"- becomes +", R"([\w)\]](-)[\w(])", "+"},
    Operator{"* becomes +", R"(\w\)?\]? (\*) \(?\w)", "+"},
    Operator{"* becomes +", R"([\w)\]](\*)[\w(])", "+"},
    Operator{"+= becomes -=", R"((\+=))", "-="},
    Operator{"-= becomes +=", R"((-=))", "+="},
    Operator{"&& becomes ||", R"([\w)\]] ?(&&) ?[\w(!])", "||"},
    Operator{"the neighbouring element is read", R"(= [^;=]*?\w\[(\w[\w .+*/%()-]*)\])", "($1) + 1"},
    Operator{"an element is not written", R"([;{}]\s*(\*?\w+\[[^;=\]]*\] = [^;={}]*;))", ";"},
    Operator{"max becomes min", R"(\bf?(max)f?\()", "min"},
    Operator{"min becomes max", R"(\bf?(min)f?\()", "max"},
    Operator{"a constant is 1 % larger", R"(\b((?=[\d.]*[1-9])\d+\.\d*(?:e[+-]?\d+)?[fF]?)\b)", "(1.01f * $1)"},
    Operator{"an offset of 1 is dropped", R"(\w\)?\]? [+-] (1)\b[^.\w])", "0"},
    // Conditions at ends.
    Operator{"the end is one earlier", R"( < (\w+)[;)& ?])", "$1 - 1"},
    Operator{"the end is one earlier", R"(\b(?:if|for|while) ?\([^{}<>]*?[\w)\]]<(\w+)[;)& ?])", "$1 - 1"},
    Operator{"the end is one earlier", R"( >= (\w+)[;)|& ?])", "$1 - 1"},
    Operator{kGuard, R"(\bif ?\(([^;{}]*?)\)\s*(?:return|continue|break)\b)", "false"},
    Operator{kGuard, R"(\bif ?\(([^;{}]*?[<>][^;{}]*?)\)\s*(?!return|continue|break|[\s)=<>?|&*/+.-])[\w{*(])", "true"},
    Operator{kGuard, R"(= ([^;?={}]*[<>][^;?={}]*?) ?\?)", "true"},
    Operator{kHalfGuard, R"(\b((?:\w+ [-+*] )*\w+ [<>]=? \w+) &&)", "true"},
    Operator{kHalfGuard, R"(&& ((?:\w+ [-+*] )*\w+ [<>]=? \w+)\s*[;)?&])", "true"},
    Operator{kHalfGuard, R"(\b((?:\w+ [-+*] )*\w+ [<>]=? \w+) \|\|)", "false"},
    Operator{kHalfGuard, R"(\|\| ((?:\w+ [-+*] )*\w+ [<>]=? \w+)\s*[;)?|])", "false"},
    Operator{"the loop begins one later", R"(\bfor ?\(\w[\w ]* ?= ?([^;,=]*);)", "($1) + 1"},
    Operator{"the loop steps twice as far", R"(\+= ?(\w+)\))", "2 * $1"},
    Operator{"the loop steps twice as far", R"(; ?(\+\+(\w+))\))", "$2 += 2"},
    Operator{"the loop steps twice as far", R"(; ?((\w+)\+\+)\))", "$2 += 2"},
    Operator{"a quotient is rounded down", R"(\((([\w.]+) ?\+ ?[\w.]+ ?- ?1)\) ?/)", "$2"},
    Operator{"a quotient is rounded down", R"(\b((?:ceil_?div|div_?up|cdiv)\(([^(),]*), ?([^(),]*)\)))",
             "(($2) / ($3))"},
    // Rounding.
    Operator{kToZero, R"(\b__(?!float22)\w+_(rn)\()", "rz"},
    Operator{kToZero, R"(\b(rint|nearbyint|round)f?\()", "trunc"},
    Operator{kToZero, R"(\b(__float2(?:bfloat16|half))\()", "$1_rz"},
    Operator{kToZero, R"(\b(?:cvt|add|mul|fma|div|sqrt|rcp)\.(?:\w+\.)*?(rn)i?\.)", "rz"},
    Operator{kToNearest, R"(\b__\w+_(rz)\()", "rn"},
    Operator{kToNearest, R"(\b(trunc)f?\()", "rint"},
    Operator{kToNearest, R"(\b(?:cvt|add|mul|fma|div|sqrt|rcp)\.(?:\w+\.)*?(rz)i?\.)", "rn"},
    Operator{kTiesAway, R"(\bl{0,2}(rint|nearbyint)f?\()", "round"},
    Operator{kTiesAway, R"(\b(__float2int_rn)\()", "(int)roundf"},
    Operator{kTiesAway, R"(\b(__double2int_rn)\()", "(int)round"},
    Operator{kTiesEven, R"(\bl{0,2}(round)f?\()", "rint"},
    Operator{kUp, R"(\b__\w+_(rd)\()", "ru"},
    Operator{kUp, R"(\b(floor)f?\()", "ceil"},
    Operator{kDown, R"(\b__\w+_(ru)\()", "rd"},
    Operator{kDown, R"(\b(ceil)f?\()", "floor"},
    // The types of sums.
    Operator{"a double is a float", R"(\b(double) \w+(?:\[[^\]]*\])* ?[=;,])", "float"},
    Operator{kBits11, kSum, kAfter11},
    Operator{kBits8, kSum, kAfter8},
    Operator{kBits11, R"( = ((fmaf?)(\([^;={}]*\)));)",
             "__uint_as_float((__float_as_uint($1) + 0x1000u) & 0xffffe000u)"},
    Operator{"the result has 8 bits of precision", R"(\] = ([^;={}]*);)",
             "__uint_as_float(__float_as_uint($1) & 0xffff0000u)"},
};

/// The replacement with the texts of the groups in place of $1 to $3.
std::string expanded(std::string_view replacement, const std::smatch& match) {
  std::string text;
  for (std::size_t i = 0; i < replacement.size(); ++i) {
    if (replacement[i] == '$')
      text += match.str(static_cast<std::size_t>(replacement[++i] - '0'));
    else
      text += replacement[i];
  }
  return text;
}

/// Each bracket is opened before it is closed: the text may be replaced as a whole.
bool is_balanced(const std::string& text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '(') ++depth;
    if (c == ')' && --depth < 0) return false;
  }
  return depth == 0;
}

template <typename Wanted>
std::vector<SourceMutation> mutations_by(std::string_view code, const Wanted& wanted) {
  const std::string text = without_long_stretches(std::string(code));
  std::vector<SourceMutation> mutations;
  for (const Operator& one : kOperators) {
    if (!wanted(one.name)) continue;
    const std::regex pattern{std::string(one.pattern)};
    for (std::sregex_iterator found(text.begin(), text.end(), pattern), end; found != end; ++found) {
      if (!is_balanced(found->str(1))) continue;
      SourceMutation mutation;
      mutation.operation = one.name;
      mutation.offset = static_cast<std::size_t>(found->position(1));
      mutation.length = static_cast<std::size_t>(found->length(1));
      mutation.replacement = expanded(one.replacement, *found);
      mutation.line = line_at(text, mutation.offset);
      mutations.push_back(std::move(mutation));
    }
  }
  std::ranges::stable_sort(mutations, {}, &SourceMutation::offset);
  return mutations;
}

}  // namespace

bool shows_on_ties_alone(std::string_view operation) {
  return operation == kTiesAway || operation == kTiesEven;
}

std::string code_only(std::string_view source) {
  const Remarks remarks = remarks_of(source);
  return with_blanks(with_blanks(source, remarks.texts), remarks.directives);
}

std::string live_code(std::string_view source, const std::set<int>& compiled) {
  const Parts parts(source, remarks_of(source));
  Blanks dead;
  for (const auto& [begin, end] : parts.all()) {
    const auto first = compiled.lower_bound(line_at(source, begin));
    if (first == compiled.end() || *first > line_at(source, end - 1)) dead.emplace_back(begin, end);
  }
  return with_blanks(code_only(source), dead);
}

std::vector<SourceMutation> source_mutations(std::string_view code) {
  return mutations_by(code, [](std::string_view) { return true; });
}

std::vector<SourceMutation> dropped_synchronisation(std::string_view code) {
  return mutations_by(code, [](std::string_view operation) {
    return operation == kNoBarrier || operation == kNoFence || operation == kNoWait;
  });
}

std::string mutated(std::string_view source, const SourceMutation& mutation) {
  std::string text(source);
  text.replace(mutation.offset, mutation.length, mutation.replacement);
  return text;
}

}  // namespace evo
