#include "evaluator/program/code.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "evaluator/program/driver/structs.h"
#include "evaluator/program/entry.h"
#include "evaluator/program/stream.h"

using namespace evo::program;

namespace {

/// Modules and libraries that the program has loaded: CUmodule and CUlibrary.
std::set<const void*>& loaded() {
  static auto& all = *new std::set<const void*>;
  return all;
}

LoadedCode& code_of(void* handle) {
  require(loaded().contains(handle), Code::invalid_handle);
  return *static_cast<LoadedCode*>(handle);
}

Function& function_of(void* handle) {
  require(is_function(handle), Code::invalid_handle);
  return *static_cast<Function*>(handle);
}

int load(void** handle, const void* image) {
  return coded([&] {
    require(handle != nullptr && image != nullptr);
    auto code = std::make_unique<LoadedCode>(image);
    loaded().insert(code.get());
    *handle = code.release();
  });
}

int load_file(void** handle, const char* path) {
  std::string text;
  const int code = coded([&] {
    require(path != nullptr);
    std::ifstream file(path, std::ios::binary);
    require(file.good(), Code::file_not_found);
    text.assign(std::istreambuf_iterator<char>(file), {});
  });
  return code != 0 ? code : load(handle, text.c_str());
}

int unload(void* handle) {
  return coded([&] {
    LoadedCode& code = code_of(handle);
    loaded().erase(handle);
    delete &code;
  });
}

int find_function(void** function, void* code, const char* name) {
  return coded([&] {
    require(function != nullptr && name != nullptr);
    Function* found = code_of(code).function(name);
    require(found != nullptr, Code::not_found);
    *function = found;
  });
}

int find_variable(Address* address, std::size_t* bytes, void* code, const char* name) {
  return coded([&] {
    require(name != nullptr);
    const LoadedCode::Variable* found = code_of(code).variable(name);
    require(found != nullptr, Code::not_found);
    if (address != nullptr) *address = found->address;
    if (bytes != nullptr) *bytes = found->bytes;
  });
}

int attribute(int* value, int which, void* function) {
  return coded([&] {
    require(value != nullptr);
    *value = function_attribute(function_of(function), which);
  });
}

int set_attribute(void* function, int which, int value) {
  return coded([&] { set_function_attribute(function_of(function), which, value); });
}

void launch(KernelLaunch asked, void* stream) {
  check(asked);
  submit(stream_of(stream), std::move(asked));
}

}  // namespace

EVO_ENTRY int cuModuleLoad(void** module, const char* path) {
  return load_file(module, path);
}
EVO_ENTRY int cuModuleLoadData(void** module, const void* image) {
  return load(module, image);
}
EVO_ENTRY int cuModuleLoadDataEx(void** module, const void* image, unsigned, int*, void**) {
  return load(module, image);
}
EVO_ENTRY int cuModuleLoadFatBinary(void** module, const void* image) {
  return load(module, image);
}
EVO_ENTRY int cuModuleUnload(void* module) {
  return unload(module);
}
EVO_ENTRY int cuModuleGetFunction(void** function, void* module, const char* name) {
  return find_function(function, module, name);
}
EVO_ENTRY int cuModuleGetGlobal_v2(Address* address, std::size_t* bytes, void* module, const char* name) {
  return find_variable(address, bytes, module, name);
}
EVO_ENTRY int cuModuleGetLoadingMode(int* mode) {
  return coded([&] {
    require(mode != nullptr);
    *mode = 2;  // CU_MODULE_LAZY_LOADING
  });
}
EVO_ENTRY int cuModuleGetFunctionCount(unsigned* count, void* module) {
  return coded([&] {
    require(count != nullptr);
    *count = static_cast<unsigned>(code_of(module).functions().size());
  });
}

EVO_ENTRY int cuLibraryLoadData(void** library, const void* image, int*, void**, unsigned, int*, void**, unsigned) {
  return load(library, image);
}
EVO_ENTRY int cuLibraryLoadFromFile(void** library, const char* path, int*, void**, unsigned, int*, void**, unsigned) {
  return load_file(library, path);
}
EVO_ENTRY int cuLibraryUnload(void* library) {
  return unload(library);
}
EVO_ENTRY int cuLibraryGetKernel(void** kernel, void* library, const char* name) {
  return find_function(kernel, library, name);
}
EVO_ENTRY int cuLibraryGetModule(void** module, void* library) {
  return coded([&] {
    require(module != nullptr);
    *module = &code_of(library);
  });
}
EVO_ENTRY int cuLibraryGetGlobal(Address* address, std::size_t* bytes, void* library, const char* name) {
  return find_variable(address, bytes, library, name);
}
EVO_ENTRY int cuLibraryGetManaged(Address* address, std::size_t* bytes, void* library, const char* name) {
  return find_variable(address, bytes, library, name);
}
EVO_ENTRY int cuLibraryGetKernelCount(unsigned* count, void* library) {
  return cuModuleGetFunctionCount(count, library);
}
EVO_ENTRY int cuLibraryEnumerateKernels(void** kernels, unsigned count, void* library) {
  return coded([&] {
    require(kernels != nullptr);
    const std::vector<Function*> all = code_of(library).functions();
    for (unsigned i = 0; i < count && i < all.size(); ++i) kernels[i] = all[i];
  });
}
EVO_ENTRY int cuModuleEnumerateFunctions(void** functions, unsigned count, void* module) {
  return cuLibraryEnumerateKernels(functions, count, module);
}
EVO_ENTRY int cuKernelGetFunction(void** function, void* kernel) {
  return coded([&] {
    require(function != nullptr);
    *function = &function_of(kernel);
  });
}

EVO_ENTRY int cuFuncGetAttribute(int* value, int which, void* function) {
  return attribute(value, which, function);
}
EVO_ENTRY int cuKernelGetAttribute(int* value, int which, void* kernel, int) {
  return attribute(value, which, kernel);
}
EVO_ENTRY int cuFuncSetAttribute(void* function, int which, int value) {
  return set_attribute(function, which, value);
}
EVO_ENTRY int cuKernelSetAttribute(int which, int value, void* kernel, int) {
  return set_attribute(kernel, which, value);
}
EVO_ENTRY int cuFuncSetCacheConfig(void* function, int) {
  return coded([&] { function_of(function); });
}
EVO_ENTRY int cuKernelSetCacheConfig(void* kernel, int, int) {
  return coded([&] { function_of(kernel); });
}
EVO_ENTRY int cuFuncSetSharedMemConfig(void* function, int) {
  return coded([&] { function_of(function); });
}
EVO_ENTRY int cuFuncGetModule(void** module, void* function) {
  return coded([&] {
    require(module != nullptr);
    *module = function_of(function).code;
  });
}
EVO_ENTRY int cuKernelGetLibrary(void** library, void* kernel) {
  return cuFuncGetModule(library, kernel);
}
EVO_ENTRY int cuFuncGetName(const char** name, void* function) {
  return coded([&] {
    require(name != nullptr);
    *name = function_of(function).name.c_str();
  });
}
EVO_ENTRY int cuKernelGetName(const char** name, void* kernel) {
  return cuFuncGetName(name, kernel);
}
EVO_ENTRY int cuFuncGetParamInfo(void* function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  return coded([&] {
    const auto& parameters = function_of(function).facts.parameters;
    require(index < parameters.size());
    if (offset != nullptr) *offset = parameters[index].offset;
    if (bytes != nullptr) *bytes = parameters[index].bytes;
  });
}
EVO_ENTRY int cuKernelGetParamInfo(void* kernel, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  return cuFuncGetParamInfo(kernel, index, offset, bytes);
}
EVO_ENTRY int cuFuncIsLoaded(int* state, void* function) {
  return coded([&] {
    require(state != nullptr);
    function_of(function);
    *state = 1;
  });
}
EVO_ENTRY int cuFuncLoad(void* function) {
  return coded([&] { function_of(function); });
}

EVO_ENTRY int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                             unsigned block_y, unsigned block_z, unsigned smem, void* stream, void** values,
                             void** extra) {
  return coded([&] {
    KernelLaunch asked;
    asked.function = &function_of(function);
    asked.grid = {grid_x, grid_y, grid_z};
    asked.block = {block_x, block_y, block_z};
    asked.dynamic_smem_bytes = smem;
    asked.arguments = arguments_of_driver(*asked.function, values, extra);
    launch(std::move(asked), stream);
  });
}

EVO_ENTRY int cuLaunchCooperativeKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned smem,
                                        void* stream, void** values) {
  return coded([&] {
    KernelLaunch asked;
    asked.function = &function_of(function);
    asked.grid = {grid_x, grid_y, grid_z};
    asked.block = {block_x, block_y, block_z};
    asked.dynamic_smem_bytes = smem;
    asked.cooperative = true;
    asked.arguments = arguments_of_driver(*asked.function, values, nullptr);
    launch(std::move(asked), stream);
  });
}

EVO_ENTRY int cuLaunchKernelEx(const void* config, void* function, void** values, void** extra) {
  return coded([&] {
    void* stream = nullptr;
    KernelLaunch asked = launch_of_config(config, function_of(function), values, extra, stream);
    launch(std::move(asked), stream);
  });
}

EVO_ENTRY int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  return coded([&] {
    require(function != nullptr);
    submit(stream_of(stream), HostCall{function, data});
  });
}

EVO_ENTRY int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, void* function, int threads,
                                                                   std::size_t smem, unsigned) {
  return coded([&] {
    require(blocks != nullptr && threads > 0);
    *blocks = resident_blocks(function_of(function), threads, smem);
  });
}
EVO_ENTRY int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads, std::size_t smem) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, smem, 0);
}
EVO_ENTRY int cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, void* function,
                                                        std::size_t (*smem_of)(int), std::size_t smem, int most,
                                                        unsigned) {
  return coded([&] {
    require(grid != nullptr && block != nullptr);
    const Function& of = function_of(function);
    const int limit = most > 0 ? std::min(most, of.most_threads()) : of.most_threads();
    int best = 0;
    for (int threads = limit / 32 * 32; threads > 0; threads -= 32) {
      const int blocks = resident_blocks(of, threads, smem_of == nullptr ? smem : smem_of(threads));
      if (blocks * threads <= best) continue;
      best = blocks * threads;
      *block = threads;
      *grid = blocks * machine().info().limits.sm_count;
    }
    require(best > 0);
  });
}
EVO_ENTRY int cuOccupancyMaxPotentialBlockSize(int* grid, int* block, void* function, std::size_t (*smem_of)(int),
                                               std::size_t smem, int most) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, smem_of, smem, most, 0);
}
EVO_ENTRY int cuOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, void* function, int blocks, int threads) {
  return coded([&] {
    require(bytes != nullptr && blocks > 0);
    *bytes = available_smem(function_of(function), blocks, threads);
  });
}
EVO_ENTRY int cuOccupancyMaxActiveClusters(int* clusters, void* function, const void* config) {
  return coded([&] {
    require(clusters != nullptr);
    void* stream = nullptr;
    *clusters = resident_clusters(shape_of_config(config, function_of(function), stream));
  });
}
