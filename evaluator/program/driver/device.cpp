#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "evaluator/program/device_facts.h"
#include "evaluator/program/entry.h"
#include "evaluator/program/stream.h"
#include "evaluator/program/symbols.h"

using namespace evo::program;

// CUresult, CUdevice and the enumerations are ints; handles are pointers.

namespace {

/// A CUcontext. All of them share the one GPU, its memory and its code.
struct Context {
  unsigned flags = 0;
  unsigned references = 0;
};

Context& primary() {
  static Context context;
  return context;
}

std::vector<Context*>& stack() {
  static thread_local std::vector<Context*> current;
  return current;
}

void check_device(int device) {
  require(device == 0, Code::invalid_device);
}

template <class Value>
int give(Value* to, Value value) {
  return coded([&] {
    require(to != nullptr);
    *to = value;
  });
}

int create_context(void** context, unsigned flags, int device) {
  return coded([&] {
    require(context != nullptr);
    check_device(device);
    auto* made = new Context;
    made->flags = flags;
    stack().push_back(made);
    *context = made;
  });
}

}  // namespace

EVO_ENTRY int cuInit(unsigned flags) {
  return coded([&] { require(flags == 0); });
}

EVO_ENTRY int cuDriverGetVersion(int* version) {
  return give(version, kVersion);
}

EVO_ENTRY int cuGetErrorString(int error, const char** text) {
  if (text == nullptr) return static_cast<int>(Code::invalid_value);
  *text = meaning_of(error);
  return *text == nullptr ? static_cast<int>(Code::invalid_value) : 0;
}

EVO_ENTRY int cuGetErrorName(int error, const char** text) {
  if (text == nullptr) return static_cast<int>(Code::invalid_value);
  *text = driver_name_of(error);
  return *text == nullptr ? static_cast<int>(Code::invalid_value) : 0;
}

EVO_ENTRY int cuDeviceGet(int* device, int ordinal) {
  return coded([&] {
    require(device != nullptr);
    check_device(ordinal);
    *device = 0;
  });
}

EVO_ENTRY int cuDeviceGetCount(int* count) {
  return give(count, 1);
}

EVO_ENTRY int cuDeviceGetName(char* name, int bytes, int device) {
  return coded([&] {
    check_device(device);
    require(name != nullptr && bytes > 0);
    std::strncpy(name, machine().info().name.c_str(), static_cast<std::size_t>(bytes));
    name[bytes - 1] = '\0';
  });
}

EVO_ENTRY int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  return coded([&] {
    check_device(device);
    require(bytes != nullptr);
    *bytes = static_cast<std::size_t>(machine().info().memory_bytes);
  });
}

EVO_ENTRY int cuDeviceGetAttribute(int* value, int attribute, int device) {
  return coded([&] {
    check_device(device);
    require(value != nullptr && attribute > 0);
    *value = attribute_of_device(attribute);
  });
}

EVO_ENTRY int cuDeviceComputeCapability(int* major, int* minor, int device) {
  return coded([&] {
    check_device(device);
    require(major != nullptr && minor != nullptr);
    *major = machine().info().limits.sm / 10;
    *minor = machine().info().limits.sm % 10;
  });
}

EVO_ENTRY int cuDeviceGetUuid(void* uuid, int device) {
  return coded([&] {
    check_device(device);
    require(uuid != nullptr);
    std::memcpy(uuid, uuid_of_device(), 16);
  });
}

EVO_ENTRY int cuDeviceGetUuid_v2(void* uuid, int device) {
  return cuDeviceGetUuid(uuid, device);
}

EVO_ENTRY int cuDeviceGetPCIBusId(char* id, int bytes, int device) {
  return coded([&] {
    check_device(device);
    require(id != nullptr && bytes > static_cast<int>(std::strlen(kBusId)));
    std::strcpy(id, kBusId);
  });
}

EVO_ENTRY int cuDeviceGetByPCIBusId(int* device, const char* id) {
  return coded([&] {
    require(device != nullptr && id != nullptr);
    require(std::strcmp(id, kBusId) == 0, Code::invalid_device);
    *device = 0;
  });
}

EVO_ENTRY int cuDeviceCanAccessPeer(int* can, int, int) {
  return give(can, 0);
}

EVO_ENTRY int cuDevicePrimaryCtxRetain(void** context, int device) {
  return coded([&] {
    check_device(device);
    require(context != nullptr);
    ++primary().references;
    *context = &primary();
  });
}

EVO_ENTRY int cuDevicePrimaryCtxRelease_v2(int device) {
  return coded([&] {
    check_device(device);
    require(primary().references > 0, Code::invalid_context);
    --primary().references;
  });
}

EVO_ENTRY int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
  return coded([&] {
    check_device(device);
    primary().flags = flags;
  });
}

EVO_ENTRY int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  return coded([&] {
    check_device(device);
    require(flags != nullptr && active != nullptr);
    *flags = primary().flags;
    *active = primary().references > 0 ? 1 : 0;
  });
}

EVO_ENTRY int cuDevicePrimaryCtxReset_v2(int device) {
  return coded(
      [&] {
        check_device(device);
        machine().reset();
      },
      Survives::yes);
}

EVO_ENTRY int cuCtxCreate_v2(void** context, unsigned flags, int device) {
  return create_context(context, flags, device);
}

EVO_ENTRY int cuCtxCreate_v3(void** context, void*, int, unsigned flags, int device) {
  return create_context(context, flags, device);
}

EVO_ENTRY int cuCtxCreate_v4(void** context, void*, unsigned flags, int device) {
  return create_context(context, flags, device);
}

EVO_ENTRY int cuCtxDestroy_v2(void* context) {
  return coded(
      [&] {
        require(context != nullptr && context != &primary(), Code::invalid_context);
        std::erase(stack(), static_cast<Context*>(context));
        delete static_cast<Context*>(context);
      },
      Survives::yes);
}

EVO_ENTRY int cuCtxGetCurrent(void** context) {
  return give<void*>(context, stack().empty() ? nullptr : stack().back());
}

EVO_ENTRY int cuCtxSetCurrent(void* context) {
  return coded([&] {
    if (!stack().empty()) stack().pop_back();
    if (context != nullptr) stack().push_back(static_cast<Context*>(context));
  });
}

EVO_ENTRY int cuCtxPushCurrent_v2(void* context) {
  return coded([&] {
    require(context != nullptr, Code::invalid_context);
    stack().push_back(static_cast<Context*>(context));
  });
}

EVO_ENTRY int cuCtxPopCurrent_v2(void** context) {
  return coded([&] {
    require(!stack().empty(), Code::invalid_context);
    if (context != nullptr) *context = stack().back();
    stack().pop_back();
  });
}

EVO_ENTRY int cuCtxGetDevice(int* device) {
  return coded([&] {
    require(device != nullptr);
    require(!stack().empty(), Code::invalid_context);
    *device = 0;
  });
}

EVO_ENTRY int cuCtxGetFlags(unsigned* flags) {
  return give(flags, stack().empty() ? primary().flags : stack().back()->flags);
}

EVO_ENTRY int cuCtxGetApiVersion(void*, unsigned* version) {
  return give<unsigned>(version, kVersion);
}

EVO_ENTRY int cuCtxSynchronize() {
  return coded([] { synchronise_all(); });
}

EVO_ENTRY int cuCtxGetLimit(std::size_t* value, int limit) {
  return coded([&] {
    require(value != nullptr);
    *value = limit_of_device(limit);
  });
}

EVO_ENTRY int cuCtxSetLimit(int limit, std::size_t value) {
  return coded([&] { limit_of_device(limit) = value; });
}

EVO_ENTRY int cuCtxSetCacheConfig(int) {
  return coded([] {});
}

EVO_ENTRY int cuCtxGetCacheConfig(int* config) {
  return give(config, 0);
}

EVO_ENTRY int cuCtxGetSharedMemConfig(int* config) {
  return give(config, 1);
}

EVO_ENTRY int cuCtxSetSharedMemConfig(int) {
  return coded([] {});
}

EVO_ENTRY int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return coded([&] {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
  });
}

EVO_ENTRY int cuCtxEnablePeerAccess(void*, unsigned) {
  return coded([] { throw Refusal(Code::invalid_device); });
}

EVO_ENTRY int cuCtxDisablePeerAccess(void*) {
  return coded([] { throw Refusal(Code::peer_not_enabled); });
}

EVO_ENTRY int cuProfilerStart() {
  return 0;
}

EVO_ENTRY int cuProfilerStop() {
  return 0;
}

/// Tables without documentation: the virtual GPU has none. It is NVIDIA's runtime that asks for them, in the program or
/// in a library such as cuBLAS.
EVO_ENTRY int cuGetExportTable(const void**, const void*) {
  Dl_info asks{};
  dladdr(__builtin_return_address(0), &asks);
  const std::string file = std::filesystem::path(asks.dli_fname == nullptr ? "" : asks.dli_fname).filename();
  return coded(
      [&] {
        static std::set<std::string> said;
        machine().report().not_offered("cuGetExportTable");
        if (said.insert(file).second) {
          say(file.find(".so") == std::string::npos
                  ? "the CUDA runtime is linked statically and the program has no symbol table: link it with -cudart "
                    "shared, or do not strip it"
                  : file +
                        " has a CUDA runtime of its own, which works with NVIDIA's driver alone: the virtual GPU "
                        "cannot run that library");
        }
        throw Refusal(Code::not_found);
      },
      Survives::yes);
}

namespace {

/// Since which version of CUDA a name means which form ("_v3"), where that is not the second from the beginning.
struct Form {
  const char* name;
  int since;
  int form;
};
constexpr Form kForms[] = {{"cuCtxCreate", 12050, 4},
                           {"cuCtxCreate", 11040, 3},
                           {"cuCtxCreate", 0, 2},
                           {"cuGraphAddKernelNode", 12000, 2},
                           {"cuGraphExecKernelNodeSetParams", 12000, 2},
                           {"cuGraphExecUpdate", 12000, 2},
                           {"cuGraphInstantiate", 12000, 0},
                           {"cuGraphInstantiate", 11000, 2},
                           {"cuGetProcAddress", 12000, 2},
                           {"cuMemAdvise", 12020, 2},
                           {"cuMemPrefetchAsync", 12020, 2},
                           {"cuStreamGetCaptureInfo", 12030, 3},
                           {"cuStreamGetCaptureInfo", 11030, 2}};

/// The function that a caller of this version means.
std::string symbol_of(const std::string& name, int version) {
  bool listed = false;
  for (const Form& one : kForms) {
    if (name != one.name) continue;
    listed = true;
    if (version < one.since) continue;
    return one.form == 0 ? name + "WithFlags" : name + "_v" + std::to_string(one.form);
  }
  const std::string second = name + "_v2";
  return !listed && is_offered(second) ? second : name;
}

}  // namespace

EVO_ENTRY int cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t, int* status) {
  return coded([&] {
    require(name != nullptr && function != nullptr);
    *function = function_called(symbol_of(name, version));
    if (status != nullptr) *status = *function == nullptr ? 1 : 0;
    require(*function != nullptr, Code::not_found);
  });
}

EVO_ENTRY int cuGetProcAddress(const char* name, void** function, int version, std::uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
