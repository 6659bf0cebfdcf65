#include <dlfcn.h>

#include <set>

#include "evaluator/program/entry.h"
#include "evaluator/program/symbols.h"

/// Functions of the driver and of the runtime that the virtual GPU does not offer: each says so once, and answers
/// "not supported". A definition in another file replaces one of these. This file includes nothing of CUDA, which
/// declares them otherwise.

#define EVO_NOT_OFFERED(name)                                                                          \
  extern "C" [[gnu::visibility("default"), gnu::weak]] int name() {                                    \
    return evo::program::coded([] { evo::program::not_offered(#name); }, evo::program::Survives::yes); \
  }
/// Default streams of threads are the default stream here.
#define EVO_SAME(name, of) asm(".globl " #name "\n.type " #name ",@function\n" #name ": jmp " #of "@PLT\n");

#include "evaluator/program/not_offered.inc"

#undef EVO_NOT_OFFERED
#undef EVO_SAME

namespace evo::program {

void* function_called(const std::string& name) {
  static void* const self = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&function_called), &info);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  return self == nullptr ? nullptr : dlsym(self, name.c_str());
}

bool is_offered(const std::string& name) {
#define EVO_NOT_OFFERED(name) #name,
#define EVO_SAME(name, of)
  static const std::set<std::string> missing = {
#include "evaluator/program/not_offered.inc"
  };
#undef EVO_NOT_OFFERED
#undef EVO_SAME
  return !missing.contains(name) && function_called(name) != nullptr;
}

}  // namespace evo::program
