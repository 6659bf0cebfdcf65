#include "engine/short_form/own_words.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/device/device_limits.h"
#include "engine/expression/expression.h"
#include "engine/task/family.h"

namespace evo {
namespace {

constexpr std::array<std::string_view, 50> kCuda = {
    "auto",      "bool",     "break",    "case",    "char",     "class",     "const",  "constexpr", "continue",
    "default",   "do",       "double",   "else",    "enum",     "extern",    "false",  "float",     "for",
    "goto",      "if",       "inline",   "int",     "long",     "namespace", "new",    "nullptr",   "operator",
    "return",    "short",    "signed",   "sizeof",  "static",   "struct",    "switch", "template",  "this",
    "true",      "typedef",  "typename", "union",   "unsigned", "using",     "void",   "volatile",  "while",
    "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"};

/// Words that no kernel has as macros, but that no parameter can be called.
constexpr std::array<std::string_view, 58> kOthers = {
    "alignas",      "alignof",      "and",      "and_eq",        "asm",         "bitand",
    "bitor",        "catch",        "compl",    "concept",       "delete",      "decltype",
    "dynamic_cast", "explicit",     "export",   "friend",        "mutable",     "noexcept",
    "not",          "not_eq",       "or",       "or_eq",         "private",     "protected",
    "public",       "register",     "requires", "static_assert", "static_cast", "reinterpret_cast",
    "const_cast",   "thread_local", "throw",    "try",           "typeid",      "virtual",
    "xor",          "xor_eq",       "as",       "assert",        "async",       "await",
    "def",          "del",          "elif",     "except",        "finally",     "from",
    "global",       "import",       "is",       "lambda",        "nonlocal",    "pass",
    "raise",        "with",         "yield",    "None"};

}  // namespace

bool is_cuda_word(const std::string& name) {
  return std::ranges::find(kCuda, name) != kCuda.end();
}

bool is_taken_word(const std::string& name) {
  return is_cuda_word(name) || std::ranges::find(kOthers, name) != kOthers.end() || expr::is_reserved(name) ||
         facts_of(DeviceLimits{}).contains(name);
}

}  // namespace evo
