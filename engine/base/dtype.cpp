#include "engine/base/dtype.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "engine/base/error.h"

namespace evo {
namespace {

struct Info {
  DType dtype;
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array kInfos = {
    Info{DType::u8, "u8", 1},     Info{DType::s8, "s8", 1},     Info{DType::s32, "s32", 4},
    Info{DType::e4m3, "e4m3", 1}, Info{DType::e5m2, "e5m2", 1}, Info{DType::f16, "f16", 2},
    Info{DType::bf16, "bf16", 2}, Info{DType::f32, "f32", 4},   Info{DType::f64, "f64", 8},
};

const Info& info(DType dtype) {
  for (const Info& entry : kInfos) {
    if (entry.dtype == dtype) return entry;
  }
  throw std::logic_error("dtype without an entry");
}

}  // namespace

std::size_t size_of(DType dtype) {
  return info(dtype).bytes;
}
std::string_view name_of(DType dtype) {
  return info(dtype).name;
}

DType parse_dtype(std::string_view name) {
  std::string names;
  for (const Info& entry : kInfos) {
    if (entry.name == name) return entry.dtype;
    names += names.empty() ? "" : ", ";
    names += entry.name;
  }
  throw usage_error(fmt::format("unknown dtype '{}'; there are {}", name, names));
}

}  // namespace evo
