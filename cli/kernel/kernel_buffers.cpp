#include "cli/kernel/kernel_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cli/text/files.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "evaluator/base/random.h"
#include "evaluator/device/draws.h"
#include "evaluator/numbers/elements.h"
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

// ---- Random content: element i depends on seed, name and i alone.

struct Draw {
  std::uint64_t key;
  std::array<std::uint32_t, 4> words(std::uint64_t i) const {
    return philox(key, {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), 0, 0});
  }
  std::uint64_t bits(std::uint64_t i) const {
    const auto w = words(i);
    return static_cast<std::uint64_t>(w[0]) << 32 | w[1];
  }
};

double number_at(const Filling& filling, std::size_t i) {
  return as_double(filling.numbers.at(i));
}

/// As an integer where 64 bits hold the value, else as the nearest double.
Number whole(long double value) {
  if (value < -0x1p63L || value >= 0x1p64L) return static_cast<double>(value);
  if (value < 0x1p63L) return static_cast<std::int64_t>(value);
  return static_cast<std::uint64_t>(value);
}

/// first + i * step
Number progression(const Filling& filling, std::uint64_t i) {
  const auto is_whole = [](Number number) { return !std::holds_alternative<double>(number); };
  if (std::ranges::all_of(filling.numbers, is_whole))
    return whole(exact(filling.numbers.at(0)) + static_cast<long double>(i) * exact(filling.numbers.at(1)));
  return number_at(filling, 0) + static_cast<double>(i) * number_at(filling, 1);
}

Number element_at(const BufferSpec& spec, const Draw& draw, std::uint64_t i) {
  const Filling& filling = spec.filling;
  switch (filling.kind) {
    case Filling::Kind::list:
      return i < filling.numbers.size() ? filling.numbers[i] : Number{std::int64_t{0}};
    case Filling::Kind::iota:
      return progression(filling, i);
    case Filling::Kind::uniform: {
      const double low = number_at(filling, 0), width = number_at(filling, 1) - low;
      const double share = static_cast<double>(draw.bits(i) >> 11) * 0x1p-53;
      const double value = low + share * width;
      return is_floating(spec.type.element) ? value : std::floor(value);
    }
    case Filling::Kind::normal: {
      const double value = number_at(filling, 0) + normal_from_word(draw.words(i)[0]) * number_at(filling, 1);
      return is_floating(spec.type.element) ? value : std::nearbyint(value);
    }
    default:
      return filling.numbers.empty() ? Number{std::int64_t{0}} : filling.numbers[0];
  }
}

void refuse_unheld(const BufferSpec& spec, Number number) {
  const std::string why = why_not_held(spec.type.element, number);
  if (!why.empty()) throw usage_error(fmt::format("buffer '{}': {}", spec.name, why));
}

void shuffle(const BufferSpec& spec, const Draw& draw, std::uint64_t elements, std::vector<std::byte>& bytes) {
  if (elements > 0) refuse_unheld(spec, elements - 1);
  std::vector<std::uint64_t> order(elements);
  for (std::uint64_t i = 0; i < order.size(); ++i) order[i] = i;
  for (std::uint64_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draw.bits(i) % i]);
  for (std::uint64_t i = 0; i < order.size(); ++i)
    store_at(spec.type.element, bytes.data(), i, static_cast<std::int64_t>(order[i]));
}

void fill(const BufferSpec& spec, const Draw& draw, std::uint64_t elements, std::vector<std::byte>& bytes) {
  using Kind = Filling::Kind;
  if (spec.filling.kind == Kind::list && spec.filling.numbers.size() > elements) {
    throw usage_error(fmt::format("buffer '{}' has {} elements, {} numbers were given", spec.name, elements,
                                  spec.filling.numbers.size()));
  }
  // Random numbers are rounded and saturated as the format does; a number that was typed must be held.
  const bool rounded =
      is_floating(spec.type.element) && (spec.filling.kind == Kind::uniform || spec.filling.kind == Kind::normal);
  for (std::size_t i = 0; i < elements; ++i) {
    const Number number = element_at(spec, draw, i);
    if (!rounded) refuse_unheld(spec, number);
    store_at(spec.type.element, bytes.data(), i, number);
  }
}

}  // namespace

std::vector<std::byte> content_of(BufferSpec& spec, std::uint64_t seed) {
  if (spec.filling.kind == Filling::Kind::file) return content_of_file(spec);
  const std::uint64_t elements = elements_of(spec.dims) * spec.type.components;
  if (bytes_for(spec.type.element, elements) > kMostBufferBytes)
    throw usage_error(fmt::format("buffer '{}' is too large", spec.name));
  std::vector<std::byte> bytes(bytes_for(spec.type.element, elements));
  const Draw draw{mix(seed, spec.name)};
  switch (spec.filling.kind) {
    case Filling::Kind::unset:
      std::fill(bytes.begin(), bytes.end(), std::byte{0xcb});
      break;
    case Filling::Kind::shuffle:
      shuffle(spec, draw, elements, bytes);
      break;
    case Filling::Kind::drawn:
      draw_elements({.name = spec.name,
                     .dtype = spec.type.element,
                     .elements = elements,
                     .row = spec.dims.empty() ? 1 : spec.dims.back() * spec.type.components,
                     .kind = spec.filling.draw,
                     .numbers = spec.filling.numbers,
                     .regime = Distribution::normal,
                     .stream = mix(seed, spec.name)},
                    bytes.data());
      break;
    case Filling::Kind::bits:
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(draw.bits(i / 8) >> (i % 8 * 8));
      break;
    default:
      fill(spec, draw, elements, bytes);
  }
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
