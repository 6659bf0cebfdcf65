#include "evaluator/vgpu/numbers/shared_matrix.h"

#include <cstring>

namespace evo::vgpu {
namespace {

constexpr std::uint32_t kChunkBytes = 16;

/// Swizzles the address of a chunk within its 128-byte line. The pattern repeats after eight (four, two) lines.
std::uint32_t swizzled(const SharedMatrix& matrix, std::uint32_t address) {
  if (matrix.by_32) return address ^ ((((address >> 7) - matrix.base) & 3) << 5);
  const std::uint32_t chunks = matrix.row_bytes / kChunkBytes;
  return address ^ ((((address >> 7) - matrix.base) & (chunks - 1)) << 4);
}

/// K-major: row `row`'s chunk-th 16 bytes along k.
std::uint32_t chunk_along_k(const SharedMatrix& matrix, int row, int chunk) {
  const auto block = static_cast<std::uint32_t>(row / 8), inside = static_cast<std::uint32_t>(row % 8);
  const std::uint32_t step = matrix.row_bytes == kChunkBytes ? matrix.leading : kChunkBytes;
  return swizzled(matrix, matrix.start + block * matrix.stride + inside * matrix.row_bytes +
                              static_cast<std::uint32_t>(chunk) * step);
}

/// M- or N-major: the `block`-th 16 bytes of rows at one k.
std::uint32_t chunk_across(const SharedMatrix& matrix, int block, int k) {
  const int atom_k = matrix.by_32 ? 4 : 8;
  const auto k_block = static_cast<std::uint32_t>(k / atom_k), k_inside = static_cast<std::uint32_t>(k % atom_k);
  const auto which = static_cast<std::uint32_t>(block);
  if (matrix.row_bytes == kChunkBytes)
    return matrix.start + which * matrix.stride + k_block * matrix.leading + k_inside * kChunkBytes;
  const std::uint32_t per_atom = matrix.row_bytes / kChunkBytes;
  return swizzled(matrix, matrix.start + which / per_atom * matrix.leading + which % per_atom * kChunkBytes +
                              k_block * matrix.stride + k_inside * matrix.row_bytes);
}

/// Rows that 16 bytes of a transposed part hold.
int rows_of_chunk(const SharedPart& part) {
  return static_cast<int>(kChunkBytes) / part.element_bytes;
}

/// Calls body(address, row, chunk along k) for every chunk of a part, or body(address, block of rows, k) where the part
/// is transposed.
template <class Body>
void for_each_chunk(const SharedPart& part, Body body) {
  if (part.transposed) {
    const int rows = rows_of_chunk(part);
    for (int block = part.first / rows; block < (part.first + part.rows) / rows; ++block)
      for (int k = 0; k < part.chunks * rows; ++k)
        body(chunk_across(part.matrix, block, k), block - part.first / rows, k);
  } else {
    for (int row = 0; row < part.rows; ++row)
      for (int chunk = 0; chunk < part.chunks; ++chunk)
        body(chunk_along_k(part.matrix, part.first + row, chunk), row, chunk);
  }
}

}  // namespace

SharedMatrix decode_descriptor(std::uint64_t descriptor) {
  const auto field = [&](int from, std::uint64_t mask) {
    return static_cast<std::uint32_t>(descriptor >> from & mask);
  };
  constexpr std::uint32_t kRowBytes[] = {16, 128, 64, 32};
  return {field(0, 0x3fff) << 4, field(16, 0x3fff) << 4,  field(32, 0x3fff) << 4,
          field(49, 7),          kRowBytes[field(62, 3)], false};
}

std::optional<SharedMatrix> decode_tensor_descriptor(std::uint64_t descriptor, std::string& why) {
  SharedMatrix matrix = decode_descriptor(descriptor);
  if ((descriptor >> 46 & 7) != 1) why = "bits 46 to 48 must be 0b001";
  if ((descriptor >> 52 & 1) != 0) why = "an absolute leading dimension is not modelled";
  if ((descriptor >> 53 & 0xff) != 0) why = "bits 53 to 60 must be 0";
  switch (descriptor >> 61) {
    case 0:
      matrix.row_bytes = 16;
      break;
    case 1:
      matrix.by_32 = true;
      [[fallthrough]];
    case 2:
      matrix.row_bytes = 128;
      break;
    case 4:
      matrix.row_bytes = 64;
      break;
    case 6:
      matrix.row_bytes = 32;
      break;
    default:
      why = "no swizzle has the number " + std::to_string(descriptor >> 61);
  }
  return why.empty() ? std::optional(matrix) : std::nullopt;
}

std::uint32_t first_outside(const SharedPart& part, std::span<const std::byte> shared) {
  std::uint32_t outside = 0;
  for_each_chunk(part, [&](std::uint32_t address, int, int) {
    const bool inside = address >= 1024 && std::size_t{address} + kChunkBytes <= shared.size();
    if (!inside && outside == 0) outside = address != 0 ? address : 1;
  });
  return outside;
}

void read_part(const SharedPart& part, std::span<const std::byte> shared, int rows_per_tile, TileWord* to) {
  const int words = 4 * part.chunks;
  if (!part.transposed) {
    for_each_chunk(part, [&](std::uint32_t address, int row, int chunk) {
      std::uint32_t data[4];
      std::memcpy(data, shared.data() + address, sizeof data);
      TileWord* tile = to + row / rows_per_tile * words + 4 * chunk;
      for (int word = 0; word < 4; ++word) tile[word].row[static_cast<std::size_t>(row % rows_per_tile)] = data[word];
    });
    return;
  }
  const int bytes = part.element_bytes, rows = rows_of_chunk(part), per_word = 4 / bytes;
  for_each_chunk(part, [&](std::uint32_t address, int block, int k) {
    for (int i = 0; i < rows; ++i) {
      std::uint32_t element = 0;
      std::memcpy(&element, shared.data() + address + i * bytes, static_cast<std::size_t>(bytes));
      const int row = block * rows + i;
      std::uint32_t& word =
          to[row / rows_per_tile * words + k / per_word].row[static_cast<std::size_t>(row % rows_per_tile)];
      word = (k % per_word == 0 ? 0 : word) | element << k % per_word * 8 * bytes;
    }
  });
}

void each_chunk(const SharedPart& part, const std::function<void(std::uint32_t)>& chunk) {
  for_each_chunk(part, [&](std::uint32_t address, int, int) { chunk(address); });
}

std::uint64_t checksum(const SharedPart& part, std::span<const std::byte> shared) {
  std::uint64_t hash = 0;
  for_each_chunk(part, [&](std::uint32_t address, int, int) {
    std::uint64_t data[2];
    std::memcpy(data, shared.data() + address, sizeof data);
    hash = (hash ^ data[0]) * 0x9e3779b97f4a7c15ull;
    hash = (hash ^ (hash >> 29) ^ data[1]) * 0xbf58476d1ce4e5b9ull;
  });
  return hash;
}

}  // namespace evo::vgpu
