#pragma once

#include "evaluator/program/textures.h"
#include "evaluator/program/work.h"

/// What cuda.h declares as structs and enumerations. Its functions are declared otherwise in each version: files that
/// define them do not include it.
namespace evo::program {

Copy copy_of_2d(const void* cuda_memcpy2d);
Copy copy_of_3d(const void* cuda_memcpy3d);
Fill fill_of(const void* cuda_memset_node_params);
KernelLaunch launch_of_node(const void* cuda_kernel_node_params);
HostCall host_call_of(const void* cuda_host_node_params);
/// Of CUDA_ARRAY_DESCRIPTOR, and of CUDA_ARRAY3D_DESCRIPTOR.
Array array_of_2d(const void* descriptor);
Array array_of_3d(const void* descriptor);
void describe_2d(const Array& array, void* descriptor);
void describe_3d(const Array& array, void* descriptor);
/// Of CUDA_RESOURCE_DESC and CUDA_TEXTURE_DESC.
cudaResourceDesc resource_of(const void* described);
cudaTextureDesc texture_of(const void* described);
void describe(const cudaResourceDesc& resource, void* to);
void describe(const cudaTextureDesc& texture, void* to);
bool is_view_without_format(const void* cuda_resource_view_desc);
/// And the stream.
KernelLaunch launch_of_config(const void* config, Function& function, void* const* values, void* const* extra,
                              void*& stream);
/// Without arguments.
KernelLaunch shape_of_config(const void* config, Function& function, void*& stream);
/// The bytes of arguments: of each its own, or all in one buffer.
std::vector<std::vector<std::byte>> arguments_of_driver(const Function& function, void* const* values,
                                                        void* const* extra);
int function_attribute(const Function& function, int attribute);
void set_function_attribute(Function& function, int attribute, int value);
void give_pointer_attribute(void* value, int attribute, Address address);
/// What it is of an address that is none of CUDA's: a zero of the attribute's own size.
void clear_pointer_attribute(void* value, int attribute);

}  // namespace evo::program
