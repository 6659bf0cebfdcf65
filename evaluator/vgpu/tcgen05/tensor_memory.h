#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evaluator/vgpu/numbers/shared_matrix.h"

/// Tensor memory of a block (PTX ISA 9.0, 9.7.16.1): 128 lanes of 512 columns of 32 bits, allocated by columns, and the
/// tcgen05 instructions that are under way there. The machine computes them when they are issued; that they are
/// asynchronous is checked here.
namespace evo::vgpu {

struct Block;
struct Instruction;
struct Warp;

constexpr std::uint32_t kTensorLanes = 128;
constexpr std::uint32_t kTensorColumns = 512;
constexpr std::uint32_t kQuarterLanes = 32;  ///< That one warp of a warpgroup reaches.

/// An address: the lane in its upper, the column in its lower half.
struct TensorAddress {
  std::uint32_t lane = 0;
  std::uint32_t column = 0;

  static constexpr TensorAddress decoded(std::uint32_t address) { return {address >> 16, address & 0xffffu}; }
};

/// Some lanes of consecutive columns.
struct TensorRegion {
  std::uint32_t column = 0;
  std::uint32_t columns = 0;
  std::array<std::uint32_t, 4> lanes{};  ///< A mask for each quarter.

  void add_lanes(std::uint32_t first, std::uint32_t count);
  bool meets(const TensorRegion& other) const;
  /// "lanes 0 to 31, columns 8 to 15"
  std::string described() const;
};

/// An operand in shared memory: a product reads it until it has ended.
struct SharedOperand {
  Block* block = nullptr;
  SharedPart part;
  std::uint64_t checksum = 0;
};

struct TensorOperation {
  enum class Kind : std::uint8_t { load, store, product, copy, shift };
  Kind kind = Kind::product;
  bool committed = false;
  std::uint64_t number = 0;  ///< By order of issue, the same in both blocks of a pair.
  const Warp* issued_by = nullptr;
  int lane = 0;
  const Instruction* issued_in = nullptr;
  TensorRegion writes;              ///< A product's accumulator, too, which it may read.
  std::vector<TensorRegion> reads;  ///< A, scale factors.
  std::uint64_t shape = 0;          ///< Of a product: its instruction descriptor and kind.
  std::vector<SharedOperand> shared;

  /// Of mma, cp, shift, which the same thread's commit tracks.
  bool is_tracked() const { return kind != Kind::load && kind != Kind::store; }
};

class TensorMemory {
 public:
  struct Allocation {
    std::uint32_t column = 0;
    std::uint32_t columns = 0;
    std::uint32_t warp = 0;  ///< Of the block.
    const Instruction* allocated_in = nullptr;
  };

  /// As a block finds it. The contents cost nothing until columns are allocated.
  void start();

  // ---- Columns
  /// The first column; nothing while so many are not free side by side.
  std::optional<std::uint32_t> allocate(std::uint32_t columns, std::uint32_t warp, const Instruction& in);
  /// False when there is no such allocation.
  bool release(std::uint32_t column, std::uint32_t columns);
  const std::vector<Allocation>& allocations() const { return allocations_; }
  std::uint32_t free_columns() const;
  /// The first column of a region that is not allocated or does not exist.
  std::optional<std::uint32_t> outside(const TensorRegion& region) const;
  bool may_allocate = true;  ///< Until tcgen05.relinquish_alloc_permit.

  // ---- Contents, of allocated columns
  std::uint32_t read(std::uint32_t lane, std::uint32_t column) const { return words_[at(lane, column)]; }
  void write(std::uint32_t lane, std::uint32_t column, std::uint32_t word) {
    words_[at(lane, column)] = word;
    written_[at(lane, column)] = 1;
  }
  bool written(std::uint32_t lane, std::uint32_t column) const { return written_[at(lane, column)] != 0; }
  /// The column of a region's first word that nobody has written.
  std::optional<std::uint32_t> unwritten(const TensorRegion& region) const;

  // ---- Operations under way
  void begin(TensorOperation operation) { under_way_.push_back(std::move(operation)); }
  std::vector<TensorOperation>& under_way() { return under_way_; }
  /// The latest operation under way that this one must not begin before the end of; null: there is none.
  const TensorOperation* in_the_way_of(const TensorOperation& operation) const;

 private:
  static std::size_t at(std::uint32_t lane, std::uint32_t column) { return std::size_t{column} * kTensorLanes + lane; }

  std::vector<std::uint32_t> words_;  ///< Column by column.
  std::vector<std::uint8_t> written_;
  std::vector<Allocation> allocations_;  ///< By column.
  std::vector<TensorOperation> under_way_;
};

}  // namespace evo::vgpu
