#include "evaluator/vgpu/numbers/shared_matrix.h"

#include <cstring>

namespace evo::vgpu {
namespace {

constexpr std::uint32_t kChunkBytes = 16;

/// Swizzles the address of a chunk within its 128-byte line. The pattern repeats after eight (four, two) lines.
std::uint32_t swizzled(const SharedMatrix& matrix, std::uint32_t address) {
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

/// M- or N-major: rows 8 `block` to 8 `block` + 7 at one k.
std::uint32_t chunk_across(const SharedMatrix& matrix, int block, int k) {
  const auto k_block = static_cast<std::uint32_t>(k / 8), k_inside = static_cast<std::uint32_t>(k % 8);
  const auto which = static_cast<std::uint32_t>(block);
  if (matrix.row_bytes == kChunkBytes)
    return matrix.start + which * matrix.stride + k_block * matrix.leading + k_inside * kChunkBytes;
  const std::uint32_t per_atom = matrix.row_bytes / kChunkBytes;
  return swizzled(matrix, matrix.start + which / per_atom * matrix.leading + which % per_atom * kChunkBytes +
                              k_block * matrix.stride + k_inside * matrix.row_bytes);
}

/// Calls body(address, row, chunk along k) for every chunk of a part, or body(address, block of rows, k) where the part
/// is transposed.
template <class Body>
void for_each_chunk(const SharedPart& part, Body body) {
  if (part.transposed) {
    for (int block = part.first / 8; block < (part.first + part.rows) / 8; ++block)
      for (int k = 0; k < part.chunks * 8; ++k) body(chunk_across(part.matrix, block, k), block - part.first / 8, k);
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
  return {field(0, 0x3fff) << 4, field(16, 0x3fff) << 4, field(32, 0x3fff) << 4, field(49, 7), kRowBytes[field(62, 3)]};
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
  for_each_chunk(part, [&](std::uint32_t address, int block, int k) {
    std::uint16_t data[8];
    std::memcpy(data, shared.data() + address, sizeof data);
    TileWord& word = to[block * 8 / rows_per_tile * words + k / 2];
    for (int i = 0; i < 8; ++i) {
      std::uint32_t& pair = word.row[static_cast<std::size_t>(block * 8 % rows_per_tile + i)];
      pair = k % 2 == 0 ? data[i] : (pair & 0xffffu) | std::uint32_t{data[i]} << 16;
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
