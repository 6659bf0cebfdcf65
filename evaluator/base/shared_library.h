#pragma once

#include <string>

namespace evo {

/// A library loaded at run time. It is never unloaded, because NVRTC and the driver keep state of their own.
class SharedLibrary {
 public:
  enum class Symbols {
    local,   ///< Its symbols are found through this object only.
    global,  ///< Libraries loaded later find its symbols too.
  };

  SharedLibrary() = default;
  /// Empty when it cannot be loaded; `why_not` then holds the loader's message.
  static SharedLibrary open(const std::string& path, std::string* why_not = nullptr, Symbols symbols = Symbols::local);
  ~SharedLibrary();
  SharedLibrary(SharedLibrary&& other) noexcept;
  SharedLibrary& operator=(SharedLibrary&& other) noexcept;

  explicit operator bool() const { return handle_ != nullptr; }

  /// Null when the library has no such symbol.
  void* symbol(const char* name) const;

  /// Sets a function pointer of the right type; false when the library has no such symbol.
  template <typename Function>
  bool bind(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(symbol(name));
    return function != nullptr;
  }

  /// The file that the loader picked for the library holding `symbol_name`; the name it was opened by if
  /// unknown.
  std::string path_of(const char* symbol_name) const;

 private:
  void* handle_ = nullptr;
  std::string name_;
};

/// Binds functions of a library one after another, and keeps the first name that it lacks.
class Binder {
 public:
  explicit Binder(const SharedLibrary& library) : library_(library) {}
  template <typename Function>
  void operator()(Function*& function, const char* name) {
    if (!library_.bind(function, name) && missing_ == nullptr) missing_ = name;
  }
  const char* missing() const { return missing_; }  ///< Null when it has all.

 private:
  const SharedLibrary& library_;
  const char* missing_ = nullptr;
};

}  // namespace evo
