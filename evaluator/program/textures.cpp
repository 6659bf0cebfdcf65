#include "evaluator/program/textures.h"

#include <algorithm>
#include <map>

namespace evo::program {
namespace {

constexpr std::size_t kAlignment = 512, kPitchAlignment = 32;  // device_facts.cpp tells them.

template <class Object>
std::map<ObjectHandle, Object>& objects() {
  static auto& all = *new std::map<ObjectHandle, Object>;
  return all;
}

template <class Object>
const Object& object_of(ObjectHandle handle) {
  const auto found = objects<Object>().find(handle);
  require(found != objects<Object>().end());
  return found->second;
}

template <class Object>
void destroy(ObjectHandle handle) {
  object_of<Object>(handle);
  objects<Object>().erase(handle);
  machine().gpu().objects().remove(handle);
}

vgpu::Texels in_memory(const void* begin, const cudaChannelFormatDesc& format) {
  vgpu::Texels texels;
  texels.address = reinterpret_cast<Address>(begin);
  texels.format = texel_format(format);
  texels.in_array = false;
  require(begin != nullptr && texels.address % kAlignment == 0);
  return texels;
}

vgpu::Texels texels_of(const cudaResourceDesc& resource) {
  switch (resource.resType) {
    case cudaResourceTypeArray:
      return array_of(resource.res.array.array).texels();
    case cudaResourceTypeLinear: {
      const auto& linear = resource.res.linear;
      vgpu::Texels texels = in_memory(linear.devPtr, linear.desc);
      const std::size_t count = linear.sizeInBytes / texels.format.bytes();
      require(count > 0 && count <= kMostLinearTexels);
      texels.size[0] = static_cast<std::uint32_t>(count);
      return texels;
    }
    case cudaResourceTypePitch2D: {
      const auto& pitched = resource.res.pitch2D;
      vgpu::Texels texels = in_memory(pitched.devPtr, pitched.desc);
      require(pitched.width > 0 && pitched.height > 0 && pitched.pitchInBytes % kPitchAlignment == 0 &&
              pitched.width * texels.format.bytes() <= pitched.pitchInBytes);
      texels.dimensions = 2;
      texels.size = {static_cast<std::uint32_t>(pitched.width), static_cast<std::uint32_t>(pitched.height), 1};
      texels.pitch = pitched.pitchInBytes;
      return texels;
    }
    case cudaResourceTypeMipmappedArray:
      not_offered("textures of mipmapped arrays");
    default:
      throw Refusal(Code::invalid_value);
  }
}

vgpu::Texture as_gpu_sees(const TextureObject& described) {
  const cudaTextureDesc& asked = described.texture;
  vgpu::Texture texture;
  texture.texels = texels_of(described.resource);
  for (std::size_t d = 0; d < texture.addressing.size(); ++d) {
    require(asked.addressMode[d] >= cudaAddressModeWrap && asked.addressMode[d] <= cudaAddressModeBorder);
    texture.addressing[d] = static_cast<vgpu::TexelAddressing>(asked.addressMode[d]);
  }
  texture.filters = asked.filterMode == cudaFilterModeLinear;
  texture.normalized = asked.normalizedCoords != 0;
  texture.promotes = asked.readMode == cudaReadModeNormalizedFloat;
  std::ranges::copy(asked.borderColor, texture.border.begin());
  if (described.resource.resType == cudaResourceTypeLinear) texture.see_as_list();
  require(!texture.filters || texture.gives_floats(), Code::invalid_filter);
  if (asked.sRGB != 0) not_offered("textures that convert from sRGB");
  if (asked.seamlessCubemap != 0 && texture.filters) not_offered("filtering across the edges of a cube");
  return texture;
}

}  // namespace

ObjectHandle make_texture(const TextureObject& described) {
  const ObjectHandle handle = machine().gpu().objects().add_texture(as_gpu_sees(described));
  objects<TextureObject>()[handle] = described;
  return handle;
}

const TextureObject& texture_of(ObjectHandle handle) {
  return object_of<TextureObject>(handle);
}

void destroy_texture(ObjectHandle handle) {
  destroy<TextureObject>(handle);
}

ObjectHandle make_surface(const cudaResourceDesc& resource) {
  require(resource.resType == cudaResourceTypeArray);
  const Array& array = array_of(resource.res.array.array);
  require((array.flags & cudaArraySurfaceLoadStore) != 0);
  const ObjectHandle handle = machine().gpu().objects().add_surface(array.texels());
  objects<cudaResourceDesc>()[handle] = resource;
  return handle;
}

const cudaResourceDesc& resource_of_surface(ObjectHandle handle) {
  return object_of<cudaResourceDesc>(handle);
}

void destroy_surface(ObjectHandle handle) {
  destroy<cudaResourceDesc>(handle);
}

}  // namespace evo::program
