#include "evaluator/program/runtime/code.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "evaluator/program/runtime/entry.h"
#include "evaluator/program/stream.h"

namespace evo::program {
namespace {

/// A fat binary that was registered. It is loaded when something of it is needed.
struct Registered {
  const void* image = nullptr;
  std::unique_ptr<LoadedCode> code;
  struct Managed {
    void** host = nullptr;  ///< The variable of the host that holds its address.
    std::string name;
  };
  std::vector<Managed> managed;
  bool refused = false;
  Code refusal = Code::success;
};

/// A name of a fat binary.
struct Symbol {
  Registered* in = nullptr;
  std::string name;
};

struct Registry {
  std::map<void**, std::unique_ptr<Registered>> binaries;
  std::map<const void*, Symbol> functions, variables;
};
Registry& registry() {
  static auto& only = *new Registry;
  return only;
}

LoadedCode& code_of(Registered& registered) {
  if (registered.refused) throw Refusal(registered.refusal);
  if (registered.code) return *registered.code;
  try {
    registered.code = std::make_unique<LoadedCode>(registered.image);
  } catch (const Refusal& refusal) {
    registered.refused = true;
    registered.refusal = refusal.code;
    throw;
  }
  for (const Registered::Managed& one : registered.managed)
    if (const LoadedCode::Variable* variable = registered.code->variable(one.name))
      *one.host = reinterpret_cast<void*>(variable->address);
  return *registered.code;
}

}  // namespace

Function& function_of(const void* symbol) {
  if (is_function(symbol)) return *static_cast<Function*>(const_cast<void*>(symbol));
  const auto found = registry().functions.find(symbol);
  require(found != registry().functions.end(), Code::invalid_device_function);
  Function* function = code_of(*found->second.in).function(found->second.name);
  require(function != nullptr, Code::invalid_device_function);
  return *function;
}

LoadedCode::Variable variable_of(const void* symbol) {
  const auto found = registry().variables.find(symbol);
  require(found != registry().variables.end(), Code::invalid_symbol);
  const LoadedCode::Variable* variable = code_of(*found->second.in).variable(found->second.name);
  require(variable != nullptr, Code::invalid_symbol);
  return *variable;
}

}  // namespace evo::program

using namespace evo::program;

EVO_ENTRY void** __cudaRegisterFatBinary(void* image) {
  void** handle = nullptr;
  coded(
      [&] {
        auto registered = std::make_unique<Registered>();
        registered->image = image;
        handle = reinterpret_cast<void**>(registered.get());
        registry().binaries[handle] = std::move(registered);
      },
      Survives::yes);
  return handle;
}

EVO_ENTRY void __cudaRegisterFatBinaryEnd(void**) {}

EVO_ENTRY void __cudaUnregisterFatBinary(void** handle) {
  coded(
      [&] {
        const auto found = registry().binaries.find(handle);
        if (found == registry().binaries.end()) return;
        Registered* const gone = found->second.get();
        std::erase_if(registry().functions, [&](const auto& one) { return one.second.in == gone; });
        std::erase_if(registry().variables, [&](const auto& one) { return one.second.in == gone; });
        registry().binaries.erase(found);
      },
      Survives::yes);
}

EVO_ENTRY void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, void*, void*,
                                      void*, void*, int*) {
  coded([&] { registry().functions[host] = {registry().binaries.at(handle).get(), name}; }, Survives::yes);
}

EVO_ENTRY void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, std::size_t, int, int) {
  coded([&] { registry().variables[host] = {registry().binaries.at(handle).get(), name}; }, Survives::yes);
}

EVO_ENTRY void __cudaRegisterHostVar(void** handle, const char* name, char* host, std::size_t) {
  coded([&] { registry().variables[host] = {registry().binaries.at(handle).get(), name}; }, Survives::yes);
}

EVO_ENTRY void __cudaRegisterManagedVar(void** handle, void** host, char*, const char* name, int, std::size_t, int,
                                        int) {
  coded(
      [&] {
        Registered& registered = *registry().binaries.at(handle);
        registered.managed.push_back({host, name});
        registry().variables[host] = {&registered, name};
      },
      Survives::yes);
}

/// Before the host reads a managed variable: its address must be there.
EVO_ENTRY char __cudaInitModule(void** handle) {
  return coded([&] { code_of(*registry().binaries.at(handle)); }) == 0 ? 1 : 0;
}

EVO_ENTRY void __cudaRegisterTexture(void**, const void*, const void**, const char* name, int, int, int) {
  say(fmt::format("the virtual GPU does not offer texture references ('{}'): use texture objects", name));
}

EVO_ENTRY void __cudaRegisterSurface(void**, const void*, const void**, const char* name, int, int) {
  say(fmt::format("the virtual GPU does not offer surface references ('{}'): use surface objects", name));
}

namespace {

/// A copy between the host or the device and a variable.
cudaError_t copy_symbol(const void* symbol, const void* other, std::size_t bytes, std::size_t offset, bool to_symbol,
                        void* stream) {
  return answer([&] {
    const LoadedCode::Variable variable = variable_of(symbol);
    require(offset <= variable.bytes && bytes <= variable.bytes - offset && (other != nullptr || bytes == 0));
    const Address inside = variable.address + offset, outside = reinterpret_cast<Address>(other);
    submit(stream_of(stream), to_symbol ? line_copy(inside, outside, bytes) : line_copy(outside, inside, bytes));
    machine().show_printed();
  });
}

}  // namespace

EVO_ENTRY cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                                         int) {
  return copy_symbol(symbol, from, bytes, offset, true, nullptr);
}

EVO_ENTRY cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes,
                                              std::size_t offset, int, void* stream) {
  return copy_symbol(symbol, from, bytes, offset, true, stream);
}

EVO_ENTRY cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset, int) {
  return copy_symbol(symbol, to, bytes, offset, false, nullptr);
}

EVO_ENTRY cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                                int, void* stream) {
  return copy_symbol(symbol, to, bytes, offset, false, stream);
}

EVO_ENTRY cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return answer([&] {
    require(address != nullptr);
    *address = reinterpret_cast<void*>(variable_of(symbol).address);
  });
}

EVO_ENTRY cudaError_t cudaGetSymbolSize(std::size_t* bytes, const void* symbol) {
  return answer([&] {
    require(bytes != nullptr);
    *bytes = variable_of(symbol).bytes;
  });
}
