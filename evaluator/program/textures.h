#pragma once

#include <driver_types.h>
#include <texture_types.h>

#include <cstdint>

#include "evaluator/program/arrays.h"

/// Texture and surface objects. Those of the driver are described as those of the runtime.
namespace evo::program {

using ObjectHandle = unsigned long long;  ///< CUtexObject, cudaTextureObject_t, and of surfaces.

struct TextureObject {
  cudaResourceDesc resource{};
  cudaTextureDesc texture{};
};

/// Refuses what no GPU makes, or the virtual GPU does not.
ObjectHandle make_texture(const TextureObject& described);
const TextureObject& texture_of(ObjectHandle handle);
void destroy_texture(ObjectHandle handle);

ObjectHandle make_surface(const cudaResourceDesc& resource);
const cudaResourceDesc& resource_of_surface(ObjectHandle handle);
void destroy_surface(ObjectHandle handle);

/// Texels of linear memory that one texture can have.
constexpr std::size_t kMostLinearTexels = std::size_t{1} << 28;

}  // namespace evo::program
