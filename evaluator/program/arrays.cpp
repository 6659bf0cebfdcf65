#include "evaluator/program/arrays.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace evo::program {
namespace {

constexpr std::size_t kFaces = 6;  // Of a cube.

std::map<const void*, std::unique_ptr<Array>>& arrays() {
  static auto& all = *new std::map<const void*, std::unique_ptr<Array>>;
  return all;
}

std::size_t at_least_one(std::size_t size) {
  return std::max<std::size_t>(size, 1);
}

void check(const Array& array) {
  require(array.width > 0 && (array.flags & (cudaArraySparse | cudaArrayDeferredMapping)) == 0);
  const bool layered = (array.flags & cudaArrayLayered) != 0, cube = (array.flags & cudaArrayCubemap) != 0;
  if (layered || cube) {
    require(array.depth > 0);
  } else {
    require(array.depth == 0 || array.height > 0);
  }
  if (cube) require(array.width == array.height && (layered ? array.depth % kFaces == 0 : array.depth == kFaces));
}

}  // namespace

std::size_t Array::slice() const {
  return pitch() * at_least_one(height);
}

std::size_t Array::bytes() const {
  return slice() * at_least_one(depth);
}

Place Array::box(const cudaPos& at, const cudaExtent& extent) const {
  const auto fits = [](std::size_t begin, std::size_t size, std::size_t all) {
    return begin <= all && size <= all - begin;
  };
  require(fits(at.x, extent.width, pitch()) && fits(at.y, extent.height, at_least_one(height)) &&
          fits(at.z, extent.depth, at_least_one(depth)));
  return {address + at.x + at.y * pitch() + at.z * slice(), pitch(), slice()};
}

Address Array::line(std::size_t x_bytes, std::size_t y, std::size_t count) const {
  require(y <= at_least_one(height) && x_bytes <= pitch());
  const std::size_t offset = x_bytes + y * pitch();
  require(offset <= bytes() && count <= bytes() - offset);
  return address + offset;
}

vgpu::Texels Array::texels() const {
  vgpu::Texels texels;
  texels.address = address;
  texels.format = texel_format(format);
  texels.layered = (flags & cudaArrayLayered) != 0;
  texels.cube = (flags & cudaArrayCubemap) != 0;
  const bool has_layers = texels.layered || texels.cube;
  texels.dimensions = height == 0 ? 1 : depth == 0 || has_layers ? 2 : 3;
  texels.size = {static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(at_least_one(height)),
                 static_cast<std::uint32_t>(has_layers ? 1 : at_least_one(depth))};
  texels.layers = static_cast<std::uint32_t>(has_layers ? depth : 1);
  texels.pitch = pitch();
  texels.slice = slice();
  return texels;
}

vgpu::TexelFormat texel_format(const cudaChannelFormatDesc& format) {
  const int channels = format.y == 0 ? 1 : format.z == 0 ? 2 : 4;
  const int bits = format.x;
  const auto is = [&](int channel, int size) { return size == (channel < channels ? bits : 0); };
  require((bits == 8 || bits == 16 || bits == 32) && is(1, format.y) && is(2, format.z) && is(3, format.w),
          Code::invalid_channels);
  vgpu::TexelFormat texel;
  texel.channels = static_cast<std::uint8_t>(channels);
  texel.bits = static_cast<std::uint8_t>(bits);
  switch (format.f) {
    case cudaChannelFormatKindSigned:
      texel.kind = vgpu::ChannelKind::signed_integer;
      break;
    case cudaChannelFormatKindUnsigned:
      texel.kind = vgpu::ChannelKind::unsigned_integer;
      break;
    case cudaChannelFormatKindFloat:
      require(bits >= 16, Code::invalid_channels);
      texel.kind = vgpu::ChannelKind::floating;
      break;
    default:
      not_offered("arrays of normalized, compressed or video formats");
  }
  return texel;
}

Array* make_array(Array described) {
  described.element = texel_format(described.format).bytes();
  check(described);
  described.address = machine().allocate(described.bytes(), MemoryKind::device);
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
