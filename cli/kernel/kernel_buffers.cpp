#include "cli/kernel/kernel_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cli/text/files.h"
#include "engine/base/error.h"
#include "evaluator/base/random.h"
#include "evaluator/device/draws.h"
#include "evaluator/numbers/numpy.h"

namespace evo::cli {
namespace {

constexpr std::uint64_t kMostBufferBytes = std::uint64_t{8} << 30;

std::uint64_t elements_of(const std::vector<std::uint64_t>& dims) {
  std::uint64_t product = 1;
  for (const std::uint64_t dim : dims) product *= dim;
  return product;
}

std::vector<std::byte> raw_bytes(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::vector<std::byte> content_of_file(BufferSpec& spec) {
  const std::string& path = spec.filling.path;
  const std::string file = read_file(path, kMostBufferBytes);
  std::string_view data = file;
  if (path.ends_with(".npy")) {
    const NumpyArray array = parse_numpy(path, file);
    if (bits_of(array.element) != std::max(bits_of(spec.type.element), 8)) {
      throw usage_error(
          fmt::format("{} holds {}, buffer '{}' is of {}", path, name_of(array.element), spec.name, spec.type.name()));
    }
    data = array.data;
    if (spec.dims.empty()) {
      spec.dims = array.dims;
      // The last dimension of an array may hold the components of a vector.
      if (spec.type.components > 1 && spec.dims.back() % spec.type.components == 0)
        spec.dims.back() /= spec.type.components;
    }
  }
  if (spec.dims.empty())
    spec.dims = {data.size() * 8 / static_cast<std::size_t>(bits_of(spec.type.element)) / spec.type.components};
  const std::uint64_t wanted = bytes_for(spec.type.element, elements_of(spec.dims) * spec.type.components);
  if (data.size() != wanted) {
    throw usage_error(fmt::format("{} has {} bytes of data, buffer '{}' of {} x {} has {}", path, data.size(),
                                  spec.name, elements_of(spec.dims), spec.type.name(), wanted));
  }
  return raw_bytes(data);
}

}  // namespace

std::vector<std::byte> content_of(BufferSpec& spec, std::uint64_t seed) {
  if (spec.filling.kind == DrawKind::file) return content_of_file(spec);
  const std::uint64_t elements = elements_of(spec.dims) * spec.type.components;
  const std::uint64_t size = bytes_for(spec.type.element, elements);
  if (size > kMostBufferBytes) throw usage_error(fmt::format("buffer '{}' is too large", spec.name));
  if (spec.filling.kind == DrawKind::unset) return std::vector<std::byte>(size, std::byte{0xcb});
  std::vector<std::byte> bytes(size);
  draw_elements({.name = spec.name,
                 .dtype = spec.type.element,
                 .elements = elements,
                 .row = spec.dims.empty() ? 1 : spec.dims.back() * spec.type.components,
                 .kind = spec.filling.kind,
                 .numbers = spec.filling.numbers,
                 .regime = Distribution::normal,
                 .stream = mix(seed, spec.name)},
                bytes.data());
  return bytes;
}

void write_buffer(const std::string& path, const BufferSpec& spec, std::span<const std::byte> bytes) {
  std::string file;
  if (path.ends_with(".npy")) {
    std::vector<std::uint64_t> dims = spec.dims;
    if (spec.type.components > 1) dims.push_back(spec.type.components);
    file = numpy_header(spec.type.element, dims);
  }
  file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  write_file(path, file);
}

}  // namespace evo::cli
