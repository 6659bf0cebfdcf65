#include "evaluator/program/textures.h"

#include "evaluator/program/runtime/entry.h"

using namespace evo::program;

namespace {

bool changes_nothing(const cudaResourceViewDesc* view) {
  return view == nullptr || view->format == cudaResViewFormatNone;
}

}  // namespace

EVO_ENTRY cudaError_t cudaCreateTextureObject(ObjectHandle* object, const cudaResourceDesc* resource,
                                              const cudaTextureDesc* texture, const cudaResourceViewDesc* view) {
  return answer([&] {
    require(object != nullptr && resource != nullptr && texture != nullptr);
    if (!changes_nothing(view)) not_offered("views of a texture's resource");
    *object = make_texture({*resource, *texture});
  });
}

EVO_ENTRY cudaError_t cudaDestroyTextureObject(ObjectHandle object) {
  return answer([&] { destroy_texture(object); });
}

EVO_ENTRY cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, ObjectHandle object) {
  return answer([&] {
    require(resource != nullptr);
    *resource = texture_of(object).resource;
  });
}

EVO_ENTRY cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* texture, ObjectHandle object) {
  return answer([&] {
    require(texture != nullptr);
    *texture = texture_of(object).texture;
  });
}

/// None has a view.
EVO_ENTRY cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc* view, ObjectHandle object) {
  return answer([&] {
    texture_of(object);
    require(view == nullptr);
  });
}

EVO_ENTRY cudaError_t cudaCreateSurfaceObject(ObjectHandle* object, const cudaResourceDesc* resource) {
  return answer([&] {
    require(object != nullptr && resource != nullptr);
    *object = make_surface(*resource);
  });
}

EVO_ENTRY cudaError_t cudaDestroySurfaceObject(ObjectHandle object) {
  return answer([&] { destroy_surface(object); });
}

EVO_ENTRY cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* resource, ObjectHandle object) {
  return answer([&] {
    require(resource != nullptr);
    *resource = resource_of_surface(object);
  });
}

EVO_ENTRY cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(std::size_t* width, const cudaChannelFormatDesc* format,
                                                           int) {
  return answer([&] {
    require(width != nullptr && format != nullptr);
    texel_format(*format);
    *width = kMostLinearTexels;
  });
}
