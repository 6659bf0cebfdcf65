#include "engine/source/source_mutation.h"

#include <algorithm>
#include <array>
#include <regex>

namespace evo {
namespace {

/// The source with blanks in the place of what is no code: comments, strings, preprocessor lines.
std::string code_only(std::string_view source) {
  std::string code(source);
  const auto blank = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < std::min(end, code.size()); ++i)
      if (code[i] != '\n') code[i] = ' ';
  };
  bool line_start = true;
  for (std::size_t i = 0; i < source.size();) {
    std::size_t end = i + 1;
    if (source.substr(i, 2) == "//" || (line_start && source[i] == '#')) {
      end = std::min(source.find('\n', i), source.size());
      blank(i, end);
    } else if (source.substr(i, 2) == "/*") {
      end = std::min(source.find("*/", i + 2), source.size() - 2) + 2;
      blank(i, end);
    } else if (source[i] == '"' || source[i] == '\'') {
      while (end < source.size() && source[end] != source[i] && source[end] != '\n') end += source[end] == '\\' ? 2 : 1;
      blank(i, ++end);
    }
    if (source[i] == '\n') {
      line_start = true;
    } else if (source[i] != ' ' && source[i] != '\t') {
      line_start = false;
    }
    i = end;
  }
  return code;
}

struct Operator {
  std::string_view name;
  std::string_view pattern;      ///< The first group is replaced.
  std::string_view replacement;  ///< With $1 for the group.
};

// Binary operators stand between blanks; those of template lists and casts do not.
constexpr std::array kOperators = {
    Operator{"a barrier is dropped", R"((__syncthreads\(\);|__syncwarp\([^;]*\);))", ";"},
    Operator{"a fence is dropped", R"((__threadfence(?:_block|_system)?\(\);))", ";"},
    Operator{"a wait is dropped", R"(\b((?:\w*wait\w*|\w*commit\w*)(?:<[^;<>]*>)?\([^;{}]*\);))", ";"},
    Operator{"< becomes <=", R"(\w\)?\]? (<) \(?\w)", "<="},
    Operator{"<= becomes <", R"( (<=) )", "<"},
    Operator{"> becomes >=", R"(\w\)?\]? (>) \(?\w)", ">="},
    Operator{">= becomes >", R"( (>=) )", ">"},
    Operator{"== becomes !=", R"( (==) )", "!="},
    Operator{"+ becomes -", R"(\w\)?\]? (\+) \(?\w)", "-"},
    Operator{"- becomes +", R"(\w\)?\]? (-) \(?\w)", "+"},
    Operator{"* becomes +", R"(\w\)?\]? (\*) \(?\w)", "+"},
    Operator{"+= becomes -=", R"( (\+=) )", "-="},
    Operator{"&& becomes ||", R"( (&&) )", "||"},
    Operator{"the neighbouring element is read", R"(= [^;=]*?\w\[(\w[\w .+*/%()-]*)\])", "($1) + 1"},
    Operator{"an element is not written", R"([;{}]\s*(\*?\w+\[[^;=\]]*\] = [^;={}]*;))", ";"},
    Operator{"max becomes min", R"(\bf?(max)f?\()", "min"},
    Operator{"min becomes max", R"(\bf?(min)f?\()", "max"},
    Operator{"a constant is 1 % larger", R"(\b((?=[\d.]*[1-9])\d+\.\d*(?:e[+-]?\d+)?[fF]?)\b)", "(1.01f * $1)"},
    Operator{"an offset of 1 is dropped", R"(\w\)?\]? [+-] (1)\b[^.\w])", "0"},
    Operator{"the loop steps twice as far", R"(\+= (\w+)\))", "2 * $1"},
    Operator{"the result has 8 bits of precision", R"(\] = ([^;={}]*);)",
             "__uint_as_float(__float_as_uint($1) & 0xffff0000u)"},
};

std::string expanded(std::string_view replacement, const std::string& group) {
  std::string text(replacement);
  for (std::size_t at = text.find("$1"); at != std::string::npos; at = text.find("$1", at + group.size()))
    text.replace(at, 2, group);
  return text;
}

}  // namespace

std::vector<SourceMutation> source_mutations(std::string_view source) {
  const std::string code = code_only(source);
  std::vector<SourceMutation> mutations;
  for (const Operator& one : kOperators) {
    const std::regex pattern{std::string(one.pattern)};
    for (std::sregex_iterator found(code.begin(), code.end(), pattern), end; found != end; ++found) {
      SourceMutation mutation;
      mutation.operation = one.name;
      mutation.offset = static_cast<std::size_t>(found->position(1));
      mutation.length = static_cast<std::size_t>(found->length(1));
      mutation.replacement = expanded(one.replacement, found->str(1));
      mutation.line = 1 + static_cast<int>(std::count(
                              code.begin(), code.begin() + static_cast<std::ptrdiff_t>(mutation.offset), '\n'));
      mutations.push_back(std::move(mutation));
    }
  }
  std::stable_sort(mutations.begin(), mutations.end(),
                   [](const SourceMutation& a, const SourceMutation& b) { return a.offset < b.offset; });
  return mutations;
}

std::string mutated(std::string_view source, const SourceMutation& mutation) {
  std::string text(source);
  text.replace(mutation.offset, mutation.length, mutation.replacement);
  return text;
}

}  // namespace evo
