#include "evaluator/program/arrays.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace evo::program {
namespace {

std::map<const void*, std::unique_ptr<Array>>& arrays() {
  static auto& all = *new std::map<const void*, std::unique_ptr<Array>>;
  return all;
}

}  // namespace

Place Array::at(std::size_t x_bytes, std::size_t y, std::size_t z) const {
  const std::size_t pitch = width * element, slice = pitch * std::max<std::size_t>(height, 1);
  return {address + x_bytes + y * pitch + z * slice, pitch, slice};
}

Array* make_array(Array described) {
  require(described.width > 0 && described.element > 0);
  const std::size_t rows = std::max<std::size_t>(described.height, 1) * std::max<std::size_t>(described.depth, 1);
  described.address = machine().allocate(described.width * described.element * rows, MemoryKind::device);
  auto array = std::make_unique<Array>(std::move(described));
  Array* handle = array.get();
  arrays()[handle] = std::move(array);
  return handle;
}

Array& array_of(const void* handle) {
  const auto found = arrays().find(handle);
  require(found != arrays().end(), Code::invalid_handle);
  return *found->second;
}

void destroy_array(const void* handle) {
  machine().release(array_of(handle).address, MemoryKind::device);
  arrays().erase(handle);
}

}  // namespace evo::program
