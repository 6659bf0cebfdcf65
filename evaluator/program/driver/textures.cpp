#include "evaluator/program/driver/structs.h"
#include "evaluator/program/entry.h"
#include "evaluator/program/stream.h"

using namespace evo::program;

namespace {

Address host_address(const void* pointer) {
  return reinterpret_cast<Address>(pointer);
}

void copy_bytes(Address to, Address from, std::size_t bytes, void* stream) {
  require(to != 0 && from != 0);
  submit(stream_of(stream), line_copy(to, from, bytes));
  machine().show_printed();
}
int copy_to_array(void* array, std::size_t offset, Address from, std::size_t bytes, void* stream = nullptr) {
  return coded([&] { copy_bytes(array_of(array).line(offset, 0, bytes), from, bytes, stream); });
}
int copy_from_array(Address to, const void* array, std::size_t offset, std::size_t bytes, void* stream = nullptr) {
  return coded([&] { copy_bytes(to, array_of(array).line(offset, 0, bytes), bytes, stream); });
}

}  // namespace

EVO_ENTRY int cuArrayCreate_v2(void** array, const void* descriptor) {
  return coded([&] {
    require(array != nullptr);
    *array = make_array(array_of_2d(descriptor));
  });
}

EVO_ENTRY int cuArray3DCreate_v2(void** array, const void* descriptor) {
  return coded([&] {
    require(array != nullptr);
    *array = make_array(array_of_3d(descriptor));
  });
}

EVO_ENTRY int cuArrayDestroy(void* array) {
  return coded([&] { destroy_array(array); });
}

EVO_ENTRY int cuArrayGetDescriptor_v2(void* descriptor, void* array) {
  return coded([&] { describe_2d(array_of(array), descriptor); });
}

EVO_ENTRY int cuArray3DGetDescriptor_v2(void* descriptor, void* array) {
  return coded([&] { describe_3d(array_of(array), descriptor); });
}

EVO_ENTRY int cuMemcpyHtoA_v2(void* array, std::size_t offset, const void* from, std::size_t bytes) {
  return copy_to_array(array, offset, host_address(from), bytes);
}
EVO_ENTRY int cuMemcpyHtoAAsync_v2(void* array, std::size_t offset, const void* from, std::size_t bytes, void* stream) {
  return copy_to_array(array, offset, host_address(from), bytes, stream);
}
EVO_ENTRY int cuMemcpyDtoA_v2(void* array, std::size_t offset, Address from, std::size_t bytes) {
  return copy_to_array(array, offset, from, bytes);
}
EVO_ENTRY int cuMemcpyAtoH_v2(void* to, const void* array, std::size_t offset, std::size_t bytes) {
  return copy_from_array(host_address(to), array, offset, bytes);
}
EVO_ENTRY int cuMemcpyAtoHAsync_v2(void* to, const void* array, std::size_t offset, std::size_t bytes, void* stream) {
  return copy_from_array(host_address(to), array, offset, bytes, stream);
}
EVO_ENTRY int cuMemcpyAtoD_v2(Address to, const void* array, std::size_t offset, std::size_t bytes) {
  return copy_from_array(to, array, offset, bytes);
}
EVO_ENTRY int cuMemcpyAtoA_v2(void* to, std::size_t to_offset, const void* from, std::size_t offset,
                              std::size_t bytes) {
  return coded([&] {
    copy_bytes(array_of(to).line(to_offset, 0, bytes), array_of(from).line(offset, 0, bytes), bytes, nullptr);
  });
}

EVO_ENTRY int cuTexObjectCreate(ObjectHandle* object, const void* resource, const void* texture, const void* view) {
  return coded([&] {
    require(object != nullptr);
    if (!is_view_without_format(view)) not_offered("views of a texture's resource");
    const TextureObject described{resource_of(resource), texture_of(texture)};
    try {
      *object = make_texture(described);
    } catch (const Refusal& refusal) {
      // The driver has no code of its own for filters and formats.
      throw Refusal(refusal.code == Code::invalid_filter || refusal.code == Code::invalid_channels ? Code::invalid_value
                                                                                                   : refusal.code);
    }
  });
}

EVO_ENTRY int cuTexObjectDestroy(ObjectHandle object) {
  return coded([&] { destroy_texture(object); });
}

EVO_ENTRY int cuTexObjectGetResourceDesc(void* resource, ObjectHandle object) {
  return coded([&] { describe(texture_of(object).resource, resource); });
}

EVO_ENTRY int cuTexObjectGetTextureDesc(void* texture, ObjectHandle object) {
  return coded([&] { describe(texture_of(object).texture, texture); });
}

/// None has a view.
EVO_ENTRY int cuTexObjectGetResourceViewDesc(void* view, ObjectHandle object) {
  return coded([&] {
    texture_of(object);
    require(view == nullptr);
  });
}

EVO_ENTRY int cuSurfObjectCreate(ObjectHandle* object, const void* resource) {
  return coded([&] {
    require(object != nullptr);
    *object = make_surface(resource_of(resource));
  });
}

EVO_ENTRY int cuSurfObjectDestroy(ObjectHandle object) {
  return coded([&] { destroy_surface(object); });
}

EVO_ENTRY int cuSurfObjectGetResourceDesc(void* resource, ObjectHandle object) {
  return coded([&] { describe(resource_of_surface(object), resource); });
}

EVO_ENTRY int cuDeviceGetTexture1DLinearMaxWidth(std::size_t* width, int, unsigned, int) {
  return coded([&] {
    require(width != nullptr);
    *width = kMostLinearTexels;
  });
}
