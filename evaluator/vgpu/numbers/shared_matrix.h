#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "evaluator/vgpu/numbers/tiles.h"

/// Operands of wgmma and tcgen05 in shared memory (PTX ISA 9.0, 9.7.15.5.1 and 9.7.16.4.1).
namespace evo::vgpu {

/// A matrix descriptor's fields, in bytes.
struct SharedMatrix {
  std::uint32_t start = 0;
  std::uint32_t leading = 0;     ///< Leading dimension byte offset.
  std::uint32_t stride = 0;      ///< Stride dimension byte offset.
  std::uint32_t base = 0;        ///< Matrix base offset: where the swizzle pattern starts, in units of 128 bytes.
  std::uint32_t row_bytes = 16;  ///< Bytes of a swizzle atom's row: 16 (no swizzle), 32, 64 or 128.
  bool by_32 = false;            ///< 32 bytes stay together in the swizzle, else 16.
};

SharedMatrix decode_descriptor(std::uint64_t descriptor);
/// That of tcgen05. Nothing where a field is wrong; `why` then says which.
std::optional<SharedMatrix> decode_tensor_descriptor(std::uint64_t descriptor, std::string& why);

/// A part of an operand: `rows` rows of A (or columns of B) from `first`, and `chunks` of 16 bytes along k.
struct SharedPart {
  SharedMatrix matrix;
  int first = 0;
  int rows = 0;  ///< A multiple of 8.
  int chunks = 2;
  bool transposed = false;  ///< M- or N-major.
  int element_bytes = 2;    ///< Where it is transposed.
};

/// The address of the first chunk that is not inside `shared`, or 0 if all are inside. Address 0 is reserved.
std::uint32_t first_outside(const SharedPart& part, std::span<const std::byte> shared);

/// Reads a part as words along k: 4 * chunks words for each `rows_per_tile` (8 or 16) rows. The part must lie inside
/// `shared`.
void read_part(const SharedPart& part, std::span<const std::byte> shared, int rows_per_tile, TileWord* to);

/// Calls chunk(shared address) for each 16 bytes of a part.
void each_chunk(const SharedPart& part, const std::function<void(std::uint32_t)>& chunk);

/// A checksum of a part's bytes, to detect changes.
std::uint64_t checksum(const SharedPart& part, std::span<const std::byte> shared);

}  // namespace evo::vgpu
