#include "evaluator/compile/toolkit_headers.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <system_error>

// The texts of headers/ (cmake/embed_text.cmake).
namespace evo::embedded {
extern const std::string_view header_preamble, header_algorithm, header_assert, header_cub, header_float, header_new;
}

namespace evo {
namespace fs = std::filesystem;
namespace {

// printf, memcpy, size_t and the functions of math.h are built into NVRTC.
constexpr const char* kBuiltIn = "#pragma once\n";

// Some of them declare nothing in cuda::std.
#define EVO_FROM_TOOLKIT(name) \
  "#pragma once\n#include <cuda/std/" name ">\nnamespace cuda::std {}\nnamespace std { using namespace cuda::std; }\n"

const HeaderText kHeaders[] = {
    {kPreambleHeader, embedded::header_preamble.data()},
    {"stdint.h", EVO_FROM_TOOLKIT("cstdint")},
    {"cstdint", EVO_FROM_TOOLKIT("cstdint")},
    {"inttypes.h", EVO_FROM_TOOLKIT("cstdint")},
    {"limits.h", EVO_FROM_TOOLKIT("climits")},
    {"climits", EVO_FROM_TOOLKIT("climits")},
    {"float.h", embedded::header_float.data()},
    {"cfloat", embedded::header_float.data()},
    {"limits", EVO_FROM_TOOLKIT("limits")},
    {"type_traits", EVO_FROM_TOOLKIT("type_traits")},
    {"utility", EVO_FROM_TOOLKIT("utility")},
    {"array", EVO_FROM_TOOLKIT("array")},
    {"tuple", EVO_FROM_TOOLKIT("tuple")},
    {"complex", EVO_FROM_TOOLKIT("complex")},
    {"functional", EVO_FROM_TOOLKIT("functional")},
    {"cmath", EVO_FROM_TOOLKIT("cmath")},
    {"algorithm", embedded::header_algorithm.data()},
    {"numeric", EVO_FROM_TOOLKIT("numeric")},
    {"initializer_list", EVO_FROM_TOOLKIT("initializer_list")},
    {"new", embedded::header_new.data()},
    {"assert.h", embedded::header_assert.data()},
    {"cassert", embedded::header_assert.data()},
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
    {"cub/cub.cuh", embedded::header_cub.data()},
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
  const std::string_view text = embedded::header_preamble;
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
    candidates.push_back(toolkit / NvrtcEnvironment::kToolkitTarget / "include");
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
