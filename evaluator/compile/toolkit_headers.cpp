#include "evaluator/compile/toolkit_headers.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <system_error>

namespace evo {
namespace fs = std::filesystem;
namespace {

// The types as cuda/std/cstdint has them under NVRTC: both may be included.
constexpr const char* kPreamble = R"(#pragma once
using int8_t = signed char; using int16_t = signed short; using int32_t = signed int; using int64_t = signed long long;
using uint8_t = unsigned char; using uint16_t = unsigned short; using uint32_t = unsigned int;
using uint64_t = unsigned long long;
using uint = unsigned int; using ushort = unsigned short; using ulong = unsigned long;
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#ifndef M_PI
#define M_E 2.71828182845904523536
#define M_LOG2E 1.44269504088896340736
#define M_LN2 0.693147180559945309417
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.785398163397448309616
#define M_1_PI 0.318309886183790671538
#define M_2_PI 0.636619772367581343076
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.707106781186547524401
#endif
)";
// printf, memcpy, size_t and the functions of math.h are built into NVRTC.
constexpr const char* kBuiltIn = "#pragma once\n";
constexpr const char* kAssert = R"(#pragma once
#ifndef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : __assertfail(#condition, __FILE__, __LINE__, __func__, sizeof(char)))
#endif
#endif
)";

// Some of them declare nothing in cuda::std.
#define EVO_FROM_TOOLKIT(name) \
  "#pragma once\n#include <cuda/std/" name ">\nnamespace cuda::std {}\nnamespace std { using namespace cuda::std; }\n"

// Of toolkits some have the whole header, at one place or another, and some only its parts.
constexpr const char* kAlgorithm = R"(#pragma once
#if __has_include(<cuda/std/algorithm>)
#include <cuda/std/algorithm>
#elif __has_include(<cuda/std/detail/libcxx/include/algorithm>)
#include <cuda/std/detail/libcxx/include/algorithm>
#else
#include <cuda/std/__algorithm/adjacent_find.h>
#include <cuda/std/__algorithm/all_of.h>
#include <cuda/std/__algorithm/any_of.h>
#include <cuda/std/__algorithm/binary_search.h>
#include <cuda/std/__algorithm/clamp.h>
#include <cuda/std/__algorithm/copy.h>
#include <cuda/std/__algorithm/copy_backward.h>
#include <cuda/std/__algorithm/copy_if.h>
#include <cuda/std/__algorithm/copy_n.h>
#include <cuda/std/__algorithm/count.h>
#include <cuda/std/__algorithm/count_if.h>
#include <cuda/std/__algorithm/equal.h>
#include <cuda/std/__algorithm/equal_range.h>
#include <cuda/std/__algorithm/fill.h>
#include <cuda/std/__algorithm/fill_n.h>
#include <cuda/std/__algorithm/find.h>
#include <cuda/std/__algorithm/find_end.h>
#include <cuda/std/__algorithm/find_first_of.h>
#include <cuda/std/__algorithm/find_if.h>
#include <cuda/std/__algorithm/find_if_not.h>
#include <cuda/std/__algorithm/for_each.h>
#include <cuda/std/__algorithm/for_each_n.h>
#include <cuda/std/__algorithm/generate.h>
#include <cuda/std/__algorithm/generate_n.h>
#include <cuda/std/__algorithm/includes.h>
#include <cuda/std/__algorithm/is_heap.h>
#include <cuda/std/__algorithm/is_heap_until.h>
#include <cuda/std/__algorithm/is_partitioned.h>
#include <cuda/std/__algorithm/is_permutation.h>
#include <cuda/std/__algorithm/is_sorted.h>
#include <cuda/std/__algorithm/is_sorted_until.h>
#include <cuda/std/__algorithm/lexicographical_compare.h>
#include <cuda/std/__algorithm/lower_bound.h>
#include <cuda/std/__algorithm/make_heap.h>
#include <cuda/std/__algorithm/max.h>
#include <cuda/std/__algorithm/max_element.h>
#include <cuda/std/__algorithm/merge.h>
#include <cuda/std/__algorithm/min.h>
#include <cuda/std/__algorithm/min_element.h>
#include <cuda/std/__algorithm/minmax.h>
#include <cuda/std/__algorithm/minmax_element.h>
#include <cuda/std/__algorithm/mismatch.h>
#include <cuda/std/__algorithm/move.h>
#include <cuda/std/__algorithm/move_backward.h>
#include <cuda/std/__algorithm/next_permutation.h>
#include <cuda/std/__algorithm/none_of.h>
#include <cuda/std/__algorithm/partial_sort.h>
#include <cuda/std/__algorithm/partial_sort_copy.h>
#include <cuda/std/__algorithm/partition.h>
#include <cuda/std/__algorithm/partition_copy.h>
#include <cuda/std/__algorithm/partition_point.h>
#include <cuda/std/__algorithm/pop_heap.h>
#include <cuda/std/__algorithm/prev_permutation.h>
#include <cuda/std/__algorithm/push_heap.h>
#include <cuda/std/__algorithm/remove.h>
#include <cuda/std/__algorithm/remove_copy.h>
#include <cuda/std/__algorithm/remove_copy_if.h>
#include <cuda/std/__algorithm/remove_if.h>
#include <cuda/std/__algorithm/replace.h>
#include <cuda/std/__algorithm/replace_copy.h>
#include <cuda/std/__algorithm/replace_copy_if.h>
#include <cuda/std/__algorithm/replace_if.h>
#include <cuda/std/__algorithm/reverse.h>
#include <cuda/std/__algorithm/reverse_copy.h>
#include <cuda/std/__algorithm/rotate.h>
#include <cuda/std/__algorithm/rotate_copy.h>
#include <cuda/std/__algorithm/search.h>
#include <cuda/std/__algorithm/search_n.h>
#include <cuda/std/__algorithm/set_difference.h>
#include <cuda/std/__algorithm/set_intersection.h>
#include <cuda/std/__algorithm/set_symmetric_difference.h>
#include <cuda/std/__algorithm/set_union.h>
#include <cuda/std/__algorithm/shift_left.h>
#include <cuda/std/__algorithm/shift_right.h>
#include <cuda/std/__algorithm/sort_heap.h>
#include <cuda/std/__algorithm/swap_ranges.h>
#include <cuda/std/__algorithm/transform.h>
#include <cuda/std/__algorithm/unique.h>
#include <cuda/std/__algorithm/unique_copy.h>
#include <cuda/std/__algorithm/upper_bound.h>
#endif
namespace std { using namespace cuda::std; }
)";

// cuda/std/cfloat only hands on what the host has.
constexpr const char* kFloat = R"(#pragma once
#ifndef FLT_MAX
#define FLT_RADIX 2
#define FLT_MANT_DIG 24
#define FLT_DIG 6
#define FLT_DECIMAL_DIG 9
#define FLT_MIN_EXP (-125)
#define FLT_MAX_EXP 128
#define FLT_MIN_10_EXP (-37)
#define FLT_MAX_10_EXP 38
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_TRUE_MIN 1.401298464e-45f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MANT_DIG 53
#define DBL_DIG 15
#define DBL_DECIMAL_DIG 17
#define DBL_MIN_EXP (-1021)
#define DBL_MAX_EXP 1024
#define DBL_MIN_10_EXP (-307)
#define DBL_MAX_10_EXP 308
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_TRUE_MIN 4.9406564584124654e-324
#define DBL_EPSILON 2.2204460492503131e-016
#endif
)";

// Placement new. NVRTC knows operator new and delete themselves.
constexpr const char* kNew = R"(#pragma once
#include <cuda/std/cstddef>
#if __has_include(<cuda/std/__new_>)
#include <cuda/std/__new_>
#elif __has_include(<cuda/std/detail/libcxx/include/new>)
#include <cuda/std/detail/libcxx/include/new>
#endif
namespace std { using namespace cuda::std; }
)";

// The part of CUB that a kernel can use. cub/cub.cuh also has the host's side, which NVRTC refuses.
constexpr const char* kCub = R"(#pragma once
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_load.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cub/warp/warp_store.cuh>
)";

constexpr HeaderText kHeaders[] = {
    {kPreambleHeader, kPreamble},
    {"stdint.h", EVO_FROM_TOOLKIT("cstdint")},
    {"cstdint", EVO_FROM_TOOLKIT("cstdint")},
    {"inttypes.h", EVO_FROM_TOOLKIT("cstdint")},
    {"limits.h", EVO_FROM_TOOLKIT("climits")},
    {"climits", EVO_FROM_TOOLKIT("climits")},
    {"float.h", kFloat},
    {"cfloat", kFloat},
    {"limits", EVO_FROM_TOOLKIT("limits")},
    {"type_traits", EVO_FROM_TOOLKIT("type_traits")},
    {"utility", EVO_FROM_TOOLKIT("utility")},
    {"array", EVO_FROM_TOOLKIT("array")},
    {"tuple", EVO_FROM_TOOLKIT("tuple")},
    {"complex", EVO_FROM_TOOLKIT("complex")},
    {"functional", EVO_FROM_TOOLKIT("functional")},
    {"cmath", EVO_FROM_TOOLKIT("cmath")},
    {"algorithm", kAlgorithm},
    {"numeric", EVO_FROM_TOOLKIT("numeric")},
    {"initializer_list", EVO_FROM_TOOLKIT("initializer_list")},
    {"new", kNew},
    {"assert.h", kAssert},
    {"cassert", kAssert},
    {"math.h", kBuiltIn},
    {"stdio.h", kBuiltIn},
    {"cstdio", kBuiltIn},
    {"stdlib.h", kBuiltIn},
    {"cstdlib", kBuiltIn},
    {"string.h", kBuiltIn},
    {"cstring", kBuiltIn},
    {"stddef.h", kBuiltIn},
    {"cstddef", EVO_FROM_TOOLKIT("cstddef")},
    {"stdbool.h", kBuiltIn},
    {"cub/cub.cuh", kCub},
};

#undef EVO_FROM_TOOLKIT

bool begins_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The name or number behind blanks.
std::string_view first_name(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(text, begins_name) - text.begin()));
}

/// What the preamble defines: the names behind "using" and "#define".
std::vector<std::string_view> names_of_preamble() {
  std::vector<std::string_view> names;
  const std::string_view text = kPreamble;
  for (const std::string_view introducer : {"using ", "#define "}) {
    for (std::size_t at = text.find(introducer); at != std::string_view::npos; at = text.find(introducer, at + 1))
      names.push_back(first_name(text.substr(at + introducer.size())));
  }
  return names;
}

bool has_headers(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "cuda_fp16.h", ignored);
}

}  // namespace

std::vector<fs::path> toolkit_include_folders(const NvrtcEnvironment& environment, const std::string& nvrtc_path) {
  std::error_code ignored;
  std::vector<fs::path> candidates;
  const fs::path library = fs::weakly_canonical(nvrtc_path, ignored).parent_path();
  candidates.push_back(library.parent_path() / "include");
  candidates.push_back(library.parent_path().parent_path() / "cuda_runtime" / "include");  // Python's wheels.
  for (const fs::path& toolkit : environment.toolkit_folders) {
    candidates.push_back(toolkit / "include");
    candidates.push_back(toolkit / "targets/x86_64-linux/include");
  }
  const auto found = std::find_if(candidates.begin(), candidates.end(), has_headers);
  if (found == candidates.end()) return {};
  std::vector<fs::path> folders{*found};
  // CCCL has a folder of its own in CUDA 13, and a wheel of its own.
  for (const fs::path& cccl : {*found / "cccl", found->parent_path().parent_path() / "cuda_cccl" / "include"}) {
    if (fs::is_directory(cccl, ignored)) folders.push_back(cccl);
  }
  return folders;
}

bool needs_headers(std::string_view source) {
  static const std::vector<std::string_view> kDefined = names_of_preamble();
  std::set<std::string_view> used, own;
  std::string_view previous;
  bool in_typedef = false, hash = false;
  for (std::size_t at = 0; at < source.size();) {
    if (!begins_name(source[at])) {
      if (source[at] == ';') in_typedef = false;
      if (source[at] != ' ' && source[at] != '\t') hash = source[at] == '#';
      ++at;
      continue;
    }
    const std::string_view name = first_name(source.substr(at));
    if (name == "include" && hash) return true;
    if (name == "typedef") in_typedef = true;
    if (std::ranges::find(kDefined, name) != kDefined.end())
      (in_typedef || previous == "using" || previous == "define" ? own : used).insert(name);
    previous = name;
    hash = false;
    at += name.size();
  }
  return !std::ranges::includes(own, used);
}

std::span<const HeaderText> standard_headers() {
  return kHeaders;
}

}  // namespace evo
