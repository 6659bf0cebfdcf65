#include <cuda.h>

#include <algorithm>

#include "evaluator/program/driver/structs.h"

namespace evo::program {
namespace {

struct Format {
  CUarray_format driver;
  cudaChannelFormatKind kind;
  int bits;
};
constexpr Format kFormats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, cudaChannelFormatKindUnsigned, 8},
    {CU_AD_FORMAT_UNSIGNED_INT16, cudaChannelFormatKindUnsigned, 16},
    {CU_AD_FORMAT_UNSIGNED_INT32, cudaChannelFormatKindUnsigned, 32},
    {CU_AD_FORMAT_SIGNED_INT8, cudaChannelFormatKindSigned, 8},
    {CU_AD_FORMAT_SIGNED_INT16, cudaChannelFormatKindSigned, 16},
    {CU_AD_FORMAT_SIGNED_INT32, cudaChannelFormatKindSigned, 32},
    {CU_AD_FORMAT_HALF, cudaChannelFormatKindFloat, 16},
    {CU_AD_FORMAT_FLOAT, cudaChannelFormatKindFloat, 32},
};

cudaChannelFormatDesc format_of(CUarray_format format, unsigned channels) {
  const auto* found = std::ranges::find(kFormats, format, &Format::driver);
  if (found == std::end(kFormats)) not_offered("arrays of normalized, compressed or video formats");
  require(channels == 1 || channels == 2 || channels == 4);
  const auto bits = [&](unsigned channel) { return channel < channels ? found->bits : 0; };
  return {bits(0), bits(1), bits(2), bits(3), found->kind};
}

unsigned channels_of(const cudaChannelFormatDesc& format) {
  return texel_format(format).channels;
}

CUarray_format driver_format(const cudaChannelFormatDesc& format) {
  return std::ranges::find_if(kFormats, [&](const Format& one) { return one.kind == format.f && one.bits == format.x; })
      ->driver;
}

}  // namespace

Array array_of_2d(const void* descriptor) {
  require(descriptor != nullptr);
  const auto& one = *static_cast<const CUDA_ARRAY_DESCRIPTOR*>(descriptor);
  return {.width = one.Width, .height = one.Height, .format = format_of(one.Format, one.NumChannels)};
}

Array array_of_3d(const void* descriptor) {
  require(descriptor != nullptr);
  const auto& one = *static_cast<const CUDA_ARRAY3D_DESCRIPTOR*>(descriptor);
  return {.width = one.Width,
          .height = one.Height,
          .depth = one.Depth,
          .flags = one.Flags,
          .format = format_of(one.Format, one.NumChannels)};
}

void describe_2d(const Array& array, void* descriptor) {
  require(descriptor != nullptr);
  *static_cast<CUDA_ARRAY_DESCRIPTOR*>(descriptor) = {array.width, array.height, driver_format(array.format),
                                                      channels_of(array.format)};
}

void describe_3d(const Array& array, void* descriptor) {
  require(descriptor != nullptr);
  *static_cast<CUDA_ARRAY3D_DESCRIPTOR*>(descriptor) = {
      array.width, array.height, array.depth, driver_format(array.format), channels_of(array.format), array.flags};
}

cudaResourceDesc resource_of(const void* described) {
  require(described != nullptr);
  const auto& one = *static_cast<const CUDA_RESOURCE_DESC*>(described);
  cudaResourceDesc resource{};
  resource.resType = static_cast<cudaResourceType>(one.resType);
  if (one.resType == CU_RESOURCE_TYPE_ARRAY) {
    resource.res.array.array = reinterpret_cast<cudaArray_t>(one.res.array.hArray);
  } else if (one.resType == CU_RESOURCE_TYPE_LINEAR) {
    const auto& linear = one.res.linear;
    resource.res.linear = {reinterpret_cast<void*>(linear.devPtr), format_of(linear.format, linear.numChannels),
                           linear.sizeInBytes};
  } else if (one.resType == CU_RESOURCE_TYPE_PITCH2D) {
    const auto& pitched = one.res.pitch2D;
    resource.res.pitch2D = {reinterpret_cast<void*>(pitched.devPtr), format_of(pitched.format, pitched.numChannels),
                            pitched.width, pitched.height, pitched.pitchInBytes};
  }
  return resource;
}

void describe(const cudaResourceDesc& resource, void* to) {
  require(to != nullptr);
  CUDA_RESOURCE_DESC one{};
  one.resType = static_cast<CUresourcetype>(resource.resType);
  if (resource.resType == cudaResourceTypeArray) {
    one.res.array.hArray = reinterpret_cast<CUarray>(resource.res.array.array);
  } else if (resource.resType == cudaResourceTypeLinear) {
    const auto& linear = resource.res.linear;
    one.res.linear = {reinterpret_cast<CUdeviceptr>(linear.devPtr), driver_format(linear.desc),
                      channels_of(linear.desc), linear.sizeInBytes};
  } else {
    const auto& pitched = resource.res.pitch2D;
    one.res.pitch2D = {reinterpret_cast<CUdeviceptr>(pitched.devPtr),
                       driver_format(pitched.desc),
                       channels_of(pitched.desc),
                       pitched.width,
                       pitched.height,
                       pitched.pitchInBytes};
  }
  *static_cast<CUDA_RESOURCE_DESC*>(to) = one;
}

cudaTextureDesc texture_of(const void* described) {
  require(described != nullptr);
  const auto& one = *static_cast<const CUDA_TEXTURE_DESC*>(described);
  cudaTextureDesc texture{};
  for (std::size_t d = 0; d < 3; ++d) texture.addressMode[d] = static_cast<cudaTextureAddressMode>(one.addressMode[d]);
  texture.filterMode = static_cast<cudaTextureFilterMode>(one.filterMode);
  texture.readMode = (one.flags & CU_TRSF_READ_AS_INTEGER) != 0 ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
  texture.normalizedCoords = (one.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0 ? 1 : 0;
  texture.sRGB = (one.flags & CU_TRSF_SRGB) != 0 ? 1 : 0;
  texture.disableTrilinearOptimization = (one.flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0 ? 1 : 0;
  texture.seamlessCubemap = (one.flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0 ? 1 : 0;
  texture.maxAnisotropy = one.maxAnisotropy;
  texture.mipmapFilterMode = static_cast<cudaTextureFilterMode>(one.mipmapFilterMode);
  texture.mipmapLevelBias = one.mipmapLevelBias;
  texture.minMipmapLevelClamp = one.minMipmapLevelClamp;
  texture.maxMipmapLevelClamp = one.maxMipmapLevelClamp;
  std::ranges::copy(one.borderColor, texture.borderColor);
  return texture;
}

void describe(const cudaTextureDesc& texture, void* to) {
  require(to != nullptr);
  CUDA_TEXTURE_DESC one{};
  for (std::size_t d = 0; d < 3; ++d) one.addressMode[d] = static_cast<CUaddress_mode>(texture.addressMode[d]);
  one.filterMode = static_cast<CUfilter_mode>(texture.filterMode);
  const auto flag = [](bool set, unsigned bit) { return set ? bit : 0u; };
  one.flags = flag(texture.readMode == cudaReadModeElementType, CU_TRSF_READ_AS_INTEGER) |
              flag(texture.normalizedCoords != 0, CU_TRSF_NORMALIZED_COORDINATES) |
              flag(texture.sRGB != 0, CU_TRSF_SRGB) |
              flag(texture.disableTrilinearOptimization != 0, CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) |
              flag(texture.seamlessCubemap != 0, CU_TRSF_SEAMLESS_CUBEMAP);
  one.maxAnisotropy = texture.maxAnisotropy;
  one.mipmapFilterMode = static_cast<CUfilter_mode>(texture.mipmapFilterMode);
  one.mipmapLevelBias = texture.mipmapLevelBias;
  one.minMipmapLevelClamp = texture.minMipmapLevelClamp;
  one.maxMipmapLevelClamp = texture.maxMipmapLevelClamp;
  std::ranges::copy(texture.borderColor, one.borderColor);
  *static_cast<CUDA_TEXTURE_DESC*>(to) = one;
}

bool is_view_without_format(const void* view) {
  return view == nullptr || static_cast<const CUDA_RESOURCE_VIEW_DESC*>(view)->format == CU_RES_VIEW_FORMAT_NONE;
}

}  // namespace evo::program
