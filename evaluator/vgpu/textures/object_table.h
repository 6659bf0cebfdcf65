#pragma once

#include <cstdint>
#include <map>

#include "evaluator/vgpu/textures/texture.h"

namespace evo::vgpu {

/// The texture and surface objects that there are, by their handles. No handle is given twice.
class ObjectTable {
 public:
  std::uint64_t add_texture(const Texture& texture) {
    textures_[++last_] = texture;
    return last_;
  }
  std::uint64_t add_surface(const Texels& surface) {
    surfaces_[++last_] = surface;
    return last_;
  }
  void remove(std::uint64_t handle) {
    textures_.erase(handle);
    surfaces_.erase(handle);
  }
  /// Null: there is none of that handle.
  const Texture* texture(std::uint64_t handle) const { return find(textures_, handle); }
  const Texels* surface(std::uint64_t handle) const { return find(surfaces_, handle); }
  const std::map<std::uint64_t, Texels>& surfaces() const { return surfaces_; }

 private:
  template <class Object>
  static const Object* find(const std::map<std::uint64_t, Object>& objects, std::uint64_t handle) {
    const auto found = objects.find(handle);
    return found == objects.end() ? nullptr : &found->second;
  }
  std::map<std::uint64_t, Texture> textures_;
  std::map<std::uint64_t, Texels> surfaces_;
  std::uint64_t last_ = 0x7e00'0000'0000;  ///< A handle is neither an address of memory nor a small number.
};

}  // namespace evo::vgpu
