#include "evaluator/base/shared_library.h"

#include <dlfcn.h>

#include <utility>

namespace evo {

SharedLibrary SharedLibrary::open(const std::string& path, std::string* why_not, Symbols symbols) {
  SharedLibrary library;
  library.name_ = path;
  const int visibility = symbols == Symbols::global ? RTLD_GLOBAL : RTLD_LOCAL;
  library.handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_NODELETE | visibility);
  if (library.handle_ == nullptr && why_not != nullptr) {
    const char* message = dlerror();
    *why_not = message != nullptr ? message : path + ": cannot be loaded";
  }
  return library;
}

SharedLibrary::~SharedLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

SharedLibrary::SharedLibrary(SharedLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), name_(std::move(other.name_)) {}

SharedLibrary& SharedLibrary::operator=(SharedLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(name_, other.name_);
  return *this;
}

void* SharedLibrary::symbol(const char* name) const {
  return handle_ != nullptr ? dlsym(handle_, name) : nullptr;
}

std::string SharedLibrary::path_of(const char* symbol_name) const {
  Dl_info where{};
  void* address = symbol(symbol_name);
  if (address != nullptr && dladdr(address, &where) != 0 && where.dli_fname != nullptr) return where.dli_fname;
  return name_;
}

}  // namespace evo
