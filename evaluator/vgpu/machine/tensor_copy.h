#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "evaluator/vgpu/machine/memory.h"
#include "evaluator/vgpu/numbers/reduction.h"
#include "evaluator/vgpu/numbers/tensor_map.h"

/// Boxes between global and shared memory, as cp.async.bulk.tensor moves them in tile mode.
namespace evo::vgpu {

using TensorCoordinates = std::array<std::int32_t, kMaxTensorRank>;

/// A box of a tensor: what of it lies in the tensor, checked to be memory.
class TensorBox {
 public:
  TensorBox(const TensorMapObject& map, const TensorCoordinates& at);
  /// tile::gather4 and tile::scatter4: four rows of a matrix from column at[0] on, those that at[1] to at[4] name. The
  /// map's box has one row.
  static TensorBox of_rows(const TensorMapObject& map, const TensorCoordinates& at);

  /// Finds the bytes; says what is wrong, or nothing. Must come before the others.
  std::string locate(const GlobalMemory& memory, bool writes);

  /// Bytes of the box that lie in the tensor.
  std::uint64_t inside_bytes() const { return inside_bytes_; }
  const TensorMapObject& map() const { return map_; }

  /// `shared` is the whole shared memory of a block, `offset` where the box begins: swizzles go by addresses.
  void load(std::byte* shared, std::uint32_t offset) const;
  void store(const std::byte* shared, std::uint32_t offset) const;
  void reduce(const std::byte* shared, std::uint32_t offset, Reduction reduction) const;
  /// Calls piece(offset in shared memory, address, bytes) for what lies in the tensor, piece by piece as swizzles leave
  /// it.
  void each_piece(std::uint32_t offset,
                  const std::function<void(std::uint32_t, std::uint64_t, std::uint32_t)>& piece) const;

 private:
  /// Calls row(shared address of the row, bytes before, bytes inside, its first byte in global memory).
  template <class Row>
  void each_row(std::uint32_t offset, Row row) const;

  TensorMapObject map_;
  std::int64_t coordinate(std::size_t dimension, std::uint32_t step) const {
    if (by_rows_) return at_[1 + step];
    return std::int64_t{at_[dimension]} + std::int64_t{step} * map_.element_stride[dimension];
  }

  TensorCoordinates at_;
  bool by_rows_ = false;
  std::uint32_t before_ = 0;  ///< Bytes of a row that lie before the tensor.
  std::uint32_t inside_ = 0;  ///< Bytes of a row inside.
  std::uint64_t inside_bytes_ = 0;
  std::uint64_t low_ = 0;      ///< Lowest address inside.
  std::byte* host_ = nullptr;  ///< Where that is.
};

}  // namespace evo::vgpu
