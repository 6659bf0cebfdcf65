#pragma once

// A torch of declarations alone, in the place of its headers: what the binding uses, and no more.
#include <cstdint>
#include <stdexcept>
#include <vector>
namespace fake {
enum class ScalarType { Byte, Char, Short, Int, Long, Half, Float, Double, Bool, BFloat16, Float8_e5m2, Float8_e4m3fn };
struct Options {
  Options dtype(ScalarType) const { return {}; }
};
struct Tensor {
  std::int64_t dim() const;
  std::int64_t size(std::int64_t) const;
  std::int64_t stride(std::int64_t) const;
  bool is_contiguous() const;
  bool is_cuda() const;
  ScalarType scalar_type() const;
  int get_device() const;
  int get_device_index() const;
  const void* const_data_ptr() const;
  void* mutable_data_ptr() const;
  Options options() const;
  Tensor clone() const;
};
template <class... Text>
void check(bool right, Text&&...) {
  if (!right) throw std::runtime_error("refused");
}
struct Library {
  void def(const char*);
  template <class Function>
  void def(const char*, Function);
  template <class Function>
  void impl(const char*, Function);
};
struct Guard {
  explicit Guard(int);
};
// Functions of torch that are found by their arguments, as at::device_of is.
bool device_of(const Tensor&);
Tensor empty(const Tensor&, std::vector<std::int64_t>, ScalarType);
}  // namespace fake
#define FAKE_LIBRARY(space, m)                   \
  static void library_##space(fake::Library& m); \
  void define_##space(fake::Library& l) {        \
    library_##space(l);                          \
  }                                              \
  void library_##space(fake::Library& m)
#define FAKE_LIBRARY_IMPL(space, key, m)                 \
  static void library_##space##_##key(fake::Library& m); \
  void implement_##space(fake::Library& l) {             \
    library_##space##_##key(l);                          \
  }                                                      \
  void library_##space##_##key(fake::Library& m)
