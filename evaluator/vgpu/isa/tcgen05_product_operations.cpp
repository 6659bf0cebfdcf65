#include <fmt/core.h>

#include <array>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "evaluator/vgpu/decode/memory_operands.h"
#include "evaluator/vgpu/isa/tcgen05_operations.h"
#include "evaluator/vgpu/machine/access.h"
#include "evaluator/vgpu/machine/cluster.h"
#include "evaluator/vgpu/tcgen05/tensor_product.h"

// PTX ISA 9.0, 9.7.16.10.9.1: tcgen05.mma.
namespace evo::vgpu {
namespace {

using ptx::Type;

constexpr int kTileRows = 16;
constexpr int kTileColumns = 8;

// A product's instruction: op[0] is D, op[1] A (a descriptor, or an address in tensor memory), op[2] B's descriptor,
// op[3] the instruction descriptor, op[4] the predicate enable-input-d, op[5] the address of A's scale factors. The
// list has the address of B's scale factors, or the masks of disable-output-lane. aux0 is the form, aux1 the number of
// masks, immediate scale-input-d.
constexpr std::uint32_t kKindBits = 0xf;
constexpr std::uint32_t kFirstInTensorMemory = 1u << 4;
constexpr std::uint32_t kOfPair = 1u << 5;
constexpr std::uint32_t kScalesShift = 8;

/// Where sixteen rows of D lie: `rows` of M from `row` on are lanes of the block of rank `block` in the pair from
/// `lane` on, and `columns` of N from `column` on are its columns from the accumulator's first on.
struct OutputPart {
  int block = 0;
  int row = 0;  ///< In the block's part of A.
  std::uint32_t lane = 0;
  int column = 0;
  int columns = 0;
};

/// The data paths' layouts A, B, D and F (PTX ISA 9.0, 9.7.16.10.5).
std::vector<OutputPart> output_parts(const TensorShape& shape, std::uint32_t first_lane) {
  std::vector<OutputPart> parts;
  for (int block = 0; block < shape.blocks; ++block)
    for (int row = 0; row < shape.block_rows(); row += kTileRows) {
      const auto lane = static_cast<std::uint32_t>(row);
      if (shape.block_rows() == 128) {
        parts.push_back({block, row, lane, 0, shape.n});
      } else if (shape.blocks == 1) {
        parts.push_back({block, row, first_lane + 2 * lane, 0, shape.n});
      } else {
        parts.push_back({block, row, lane, 0, shape.n / 2});
        parts.push_back({block, row, 64 + lane, shape.n / 2, shape.n / 2});
      }
    }
  return parts;
}

/// A product that a lane issues.
class TensorProduct {
 public:
  TensorProduct(Warp& warp, const Instruction& in, int lane) : warp_(warp), in_(in), lane_(lane) {}

  void issue() {
    if (!decode() || !find_blocks() || !check_regions() || !find_shared_operands()) return;
    read_b();
    for (const OutputPart& part : output_parts(shape_, d_.lane)) multiply(part);
    begin();
  }

 private:
  bool fail(const std::string& what) {
    warp_.fail(in_, what, lane_);
    return false;
  }
  std::uint32_t word(Place place) const { return warp_.row(place)[lane_]; }
  bool first_in_tensor_memory() const { return (in_.aux0 & kFirstInTensorMemory) != 0; }
  const Place* list() const { return warp_.launch->kernel->places.data() + in_.more; }

  bool decode() {
    std::string why;
    const auto kind = static_cast<TensorKind>(in_.aux0 & kKindBits);
    const auto shape = decode_instruction_descriptor(word(in_.op[3]), kind, (in_.aux0 & kOfPair) != 0 ? 2 : 1, why);
    if (!shape) return fail(fmt::format("the instruction descriptor {:#x}: {}", word(in_.op[3]), why));
    shape_ = *shape;
    scales_ = static_cast<int>(in_.aux0 >> kScalesShift & 0xfu);
    accumulates_ = (get_predicate(warp_, in_.op[4]) >> lane_ & 1u) != 0;
    d_ = TensorAddress::decoded(word(in_.op[0]));
    if (first_in_tensor_memory()) {
      a_ = TensorAddress::decoded(word(in_.op[1]));
      if (shape_.transpose_a) return fail("A in tensor memory cannot be transposed");
    }
    if (is_block_scaled(kind)) {
      scale_a_ = TensorAddress::decoded(word(in_.op[5]));
      scale_b_ = TensorAddress::decoded(word(list()[0]));
      if (scales_ == 4 && !(shape_.scale_a == 0 && shape_.scale_b == 0))
        return fail("four scale factors of a row fill a word: the scale factor IDs must be 0");
      if (scales_ == 2 && (shape_.scale_a % 2 != 0 || shape_.scale_b % 2 != 0))
        return fail("two scale factors of a row begin at half a word: the scale factor IDs must be 0 or 2");
      if (scales_ != 4 && !shape_.scales_are_ue8m0) return fail("ue4m3 has .scale_vec::4X (.block16) alone");
    }
    return true;
  }

  bool find_blocks() {
    blocks_ = blocks_of(warp_, in_, lane_, shape_.blocks);
    return blocks_[0] != nullptr;
  }

  bool is_half_used() const { return shape_.blocks == 1 && shape_.block_rows() == 64; }

  /// D's, A's and the scale factors' regions: the same in both blocks.
  bool check_regions() {
    const auto aligned = [&](const TensorAddress& address, std::string_view what) {
      if (address.lane == 0 || (is_half_used() && address.lane == 16)) return true;
      return fail(fmt::format("{} begins at lane {} of tensor memory: {} is needed", what, address.lane,
                              is_half_used() ? "0 or 16" : "0"));
    };
    if (!aligned(d_, "D")) return false;
    if (first_in_tensor_memory()) {
      if (!aligned(a_, "A")) return false;
      if (a_.lane != d_.lane) return fail("A and D begin at different lanes of tensor memory");
    }
    const bool split = shape_.blocks == 2 && shape_.block_rows() == 64;
    operation_.kind = TensorOperation::Kind::product;
    operation_.issued_by = &warp_;
    operation_.lane = lane_;
    operation_.issued_in = &in_;
    operation_.shape = std::uint64_t{in_.aux0} << 32 | word(in_.op[3]);
    operation_.writes = of_rows({d_.column, static_cast<std::uint32_t>(split ? shape_.n / 2 : shape_.n), {}});
    if (first_in_tensor_memory()) operation_.reads.push_back(of_rows({a_.column, kTensorWords, {}}));
    if (is_block_scaled(shape_.kind)) {
      const auto columns = [](int rows) { return static_cast<std::uint32_t>((rows + 31) / 32); };
      TensorRegion a{scale_a_.column, columns(shape_.block_rows()), {}};
      TensorRegion b{scale_b_.column, columns(split ? shape_.n / 2 : shape_.n), {}};
      for (TensorRegion* region : {&a, &b}) {
        region->add_lanes(0, kTensorLanes);
        operation_.reads.push_back(*region);
      }
    }
    for (int block = 0; block < shape_.blocks; ++block)
      if (!may_begin(warp_, in_, lane_, memory(block), operation_) || !is_written(block)) return false;
    return true;
  }

  TensorRegion of_rows(TensorRegion region) const {
    if (!is_half_used()) region.add_lanes(0, kTensorLanes);
    for (std::uint32_t quarter = 0; is_half_used() && quarter < 4; ++quarter)
      region.add_lanes(quarter * kQuarterLanes + d_.lane, kTileRows);
    return region;
  }

  TensorMemory& memory(int block) const { return blocks_[static_cast<std::size_t>(block)]->tensor_memory; }

  /// Tells the observer of operands in tensor memory that nobody has written.
  bool is_written(int block) {
    Observer* const observer = warp_.launch->observer;
    if (observer == nullptr) return true;
    const auto look = [&](const TensorRegion& region, std::string_view what) {
      if (const auto column = memory(block).unwritten(region))
        observer->found(warp_, in_, FindingKind::uninitialised,
                        fmt::format("reads {} in tensor memory ({}), whose column {} nobody has written", what,
                                    region.described(), *column));
    };
    if (accumulates_) look(operation_.writes, "the accumulator");
    for (std::size_t i = 0; i < operation_.reads.size(); ++i) {
      const bool is_a = i == 0 && first_in_tensor_memory();
      look(operation_.reads[i], is_a                              ? "A"
                                : i + 1 < operation_.reads.size() ? "A's scale factors"
                                                                  : "B's scale factors");
    }
    return true;
  }

  std::optional<SharedPart> shared_part(std::uint64_t descriptor, int rows, bool transposed, TensorFormat format,
                                        char operand) {
    std::string why;
    const auto matrix = decode_tensor_descriptor(descriptor, why);
    const int bytes = container_bytes(format);
    if (matrix && matrix->by_32 != (transposed && bytes == 4))
      why = matrix->by_32 ? "swizzling by 32 bytes is of transposed tf32 alone"
                          : "transposed tf32 needs the swizzle of 128 bytes by 32 bytes";
    if (!why.empty()) {
      fail(fmt::format("{}'s descriptor {:#x}: {}", operand, descriptor, why));
      return std::nullopt;
    }
    return SharedPart{*matrix, 0, rows, 2, transposed, bytes};
  }

  bool add_shared(const SharedPart& part, char operand, std::uint64_t descriptor) {
    for (int block = 0; block < shape_.blocks; ++block) {
      Block& owner = *blocks_[static_cast<std::size_t>(block)];
      if (const std::uint32_t outside = first_outside(part, owner.shared); outside != 0)
        return fail(
            fmt::format("{} reads 16 bytes at shared address {:#x}, outside the block's shared memory ({:#x} to "
                        "{:#x}), by its descriptor {:#x}",
                        operand, outside, kReservedSmemBytes, owner.shared.size(), descriptor));
      operation_.shared.push_back({&owner, part, checksum(part, owner.shared)});
      if (warp_.launch->observer != nullptr)
        warp_.launch->observer->begin_tensor_read(warp_, in_, lane_, owner, part, operand);
    }
    return true;
  }

  bool find_shared_operands() {
    if (!first_in_tensor_memory()) {
      const std::uint64_t descriptor = source_row<std::uint64_t>(warp_, in_.op[1])[lane_];
      const auto part = shared_part(descriptor, shape_.block_rows(), shape_.transpose_a, shape_.a, 'A');
      if (!part || !add_shared(*part, 'A', descriptor)) return false;
      part_a_ = *part;
    }
    const std::uint64_t descriptor = source_row<std::uint64_t>(warp_, in_.op[2])[lane_];
    const auto part = shared_part(descriptor, shape_.n / shape_.blocks, shape_.transpose_b, shape_.b, 'B');
    if (!part || !add_shared(*part, 'B', descriptor)) return false;
    part_b_ = *part;
    return true;
  }

  /// All columns of B, half of them in each block of a pair.
  void read_b() {
    b_.resize(static_cast<std::size_t>(shape_.n / kTileColumns * kTensorWords));
    for (int block = 0; block < shape_.blocks; ++block) {
      const std::size_t each = b_.size() / static_cast<std::size_t>(shape_.blocks);
      read_part(part_b_, blocks_[static_cast<std::size_t>(block)]->shared, kTileColumns,
                b_.data() + static_cast<std::size_t>(block) * each);
    }
    prepare_operand(shape_, shape_.b, shape_.negate_b, true, b_);
  }

  std::array<TileWord, kTensorWords> read_a(const OutputPart& part) const {
    std::array<TileWord, kTensorWords> a;
    if (first_in_tensor_memory()) {
      for (std::uint32_t i = 0; i < kTensorWords; ++i)
        for (std::uint32_t row = 0; row < kTileRows; ++row)
          a[i].row[row] = memory(part.block).read(part.lane + row, a_.column + i);
    } else {
      SharedPart rows = part_a_;
      rows.first = part.row;
      rows.rows = kTileRows;
      read_part(rows, blocks_[static_cast<std::size_t>(part.block)]->shared, kTileRows, a.data());
    }
    prepare_operand(shape_, shape_.a, shape_.negate_a, !first_in_tensor_memory(), a);
    return a;
  }

  /// The scale factors of a row of A, or of a column of B: of row `row` in word `row` / 32 of lane `row` % 32. Each
  /// quarter of lanes has its own copy.
  ScaleFactors scales_at(const OutputPart& part, const TensorAddress& first, int id, int row) const {
    const std::uint32_t lane = part.lane / kQuarterLanes * kQuarterLanes + static_cast<std::uint32_t>(row) % 32;
    const std::uint32_t bits = memory(part.block).read(lane, first.column + static_cast<std::uint32_t>(row) / 32);
    ScaleFactors scales{};
    for (int s = 0; s < scales_; ++s)
      scales[static_cast<std::size_t>(s)] =
          scale_factor(static_cast<std::uint8_t>(bits >> (id + s) * 8), shape_.scales_are_ue8m0);
    return scales;
  }

  bool writes_lane(const OutputPart& part, std::uint32_t lane) const {
    if (in_.aux1 == 0) return true;
    const std::uint32_t mask = word(list()[static_cast<std::uint32_t>(part.block) * 4 + lane / 32]);
    return (mask >> lane % 32 & 1u) == 0;
  }

  std::uint32_t d_column(int tile, std::size_t column) const {
    return d_.column + static_cast<std::uint32_t>(tile * kTileColumns) + static_cast<std::uint32_t>(column);
  }

  void multiply(const OutputPart& part) {
    const int tiles = part.columns / kTileColumns;
    TensorMemory& of_block = memory(part.block);
    std::vector<TileSums> sums(static_cast<std::size_t>(tiles));
    if (accumulates_)
      for (int tile = 0; tile < tiles; ++tile)
        for (std::size_t column = 0; column < kTileColumns; ++column)
          for (std::uint32_t row = 0; row < kTileRows; ++row)
            sums[static_cast<std::size_t>(tile)][column].row[row] = shifted_down(
                of_block.read(part.lane + row, d_column(tile, column)), static_cast<int>(in_.immediate), shape_.d);
    const auto a = read_a(part);
    std::vector<ScaleFactors> scale_a, scale_b;
    if (is_block_scaled(shape_.kind)) {
      for (int row = 0; row < kTileRows; ++row)
        scale_a.push_back(scales_at(part, scale_a_, shape_.scale_a, part.row + row));
      for (int column = 0; column < part.columns; ++column)
        scale_b.push_back(scales_at(part, scale_b_, shape_.scale_b, column));
    }
    multiply_tiles(shape_,
                   {.a = a,
                    .b = std::span(b_).subspan(static_cast<std::size_t>(part.column / kTileColumns * kTensorWords)),
                    .sums = sums,
                    .scale_a = scale_a,
                    .scale_b = scale_b,
                    .scales = scales_,
                    .estimated = warp_.launch->numerics.fp8.estimated});
    for (int tile = 0; tile < tiles; ++tile)
      for (std::size_t column = 0; column < kTileColumns; ++column)
        for (std::uint32_t row = 0; row < kTileRows; ++row)
          if (writes_lane(part, part.lane + row))
            of_block.write(part.lane + row, d_column(tile, column),
                           sums[static_cast<std::size_t>(tile)][column].row[row]);
  }

  void begin() {
    operation_.number = next_operation(warp_);
    if (warp_.launch->tracer != nullptr) {
      AsyncAction& action = warp_.launch->async;
      action.kind = AsyncAction::Kind::product;
      // Of one SM: a pair shares the work.
      action.flops = 2u * static_cast<std::uint32_t>(shape_.block_rows() * shape_.n * shape_.k());
      const int rows = shape_.n / shape_.blocks + (first_in_tensor_memory() ? 0 : shape_.block_rows());
      action.bytes = static_cast<std::uint32_t>(rows * 4 * kTensorWords);
    }
    for (int block = shape_.blocks - 1; block > 0; --block) {
      TensorOperation without_shared = operation_;
      without_shared.shared.clear();
      memory(block).begin(std::move(without_shared));
    }
    memory(0).begin(std::move(operation_));
  }

  Warp& warp_;
  const Instruction& in_;
  int lane_;
  TensorShape shape_;
  int scales_ = 0;
  bool accumulates_ = false;
  TensorAddress d_, a_, scale_a_, scale_b_;
  std::array<Block*, 2> blocks_{};
  SharedPart part_a_, part_b_;
  std::vector<TileWord> b_;
  TensorOperation operation_;
};

void issue_tensor_product(Warp& warp, const Instruction& in, std::uint32_t mask) {
  for (const int lane : lanes_of(mask)) {
    TensorProduct(warp, in, lane).issue();
    if (warp.stop == Stop::failed) return;
  }
}

// ---- Decoding

/// Scale factors of a row in each product.
std::uint32_t take_scales(Form& form, TensorKind kind) {
  if (!form.take("block_scale")) {
    if (is_block_scaled(kind)) form.unsupported(".block_scale is missing");
    return 0;
  }
  if (!is_block_scaled(kind)) form.unsupported(".block_scale of this kind");
  const std::string_view size =
      form.take_one_of({"scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16", "block32"});
  const std::uint32_t usual = kind == TensorKind::mxf8f6f4 ? 1 : 2;
  if (size.empty() && kind == TensorKind::mxf4nvf4) form.unsupported(".scale_vec is missing");
  const std::uint32_t scales = size.empty() || size == "block32" ? usual
                               : size == "block16"               ? 4
                                                                 : static_cast<std::uint32_t>(size[11] - '0');
  const bool known = scales == usual || (scales == 4 && kind == TensorKind::mxf4nvf4);
  if (!known) form.unsupported(fmt::format(".{} of kind {}", size, name_of(kind)));
  return scales;
}

/// For the cost model.
MmaForm cost_form(TensorKind kind) {
  MmaForm form;
  form.a = form.b = kind == TensorKind::f16    ? MmaType::f16
                    : kind == TensorKind::tf32 ? MmaType::tf32
                    : kind == TensorKind::i8   ? MmaType::s8
                                               : MmaType::e4m3;
  form.k = kind == TensorKind::mxf4 || kind == TensorKind::mxf4nvf4 ? 64 : 256 / width_of(form.a);
  return form;
}

std::optional<TensorKind> take_kind(Form& form) {
  for (int kind = 0; kind <= static_cast<int>(TensorKind::mxf4nvf4); ++kind)
    if (form.take("kind::" + std::string(name_of(static_cast<TensorKind>(kind))))) return static_cast<TensorKind>(kind);
  return std::nullopt;
}

}  // namespace

void decode_tensor_product(Form& form) {
  if (!form.take_one_of({"sp", "ws", "ashift"}).empty())
    form.unsupported("sparse and weight-stationary products, and .ashift");
  const int blocks = take_block_group(form);
  const auto kind = take_kind(form);
  if (!kind) form.unsupported("no known .kind");
  const std::uint32_t scales = take_scales(form, *kind);
  form.take_one_of({"collector::a::fill", "collector::a::use", "collector::a::lastuse", "collector::a::discard"});
  const bool in_tensor_memory = form.operand(1).kind == ptx::Operand::Kind::address;
  const bool masked = scales == 0 && form.operand(4).kind == ptx::Operand::Kind::vector;
  const std::size_t enable = scales != 0 ? 6 : masked ? 5 : 4;
  const bool shifts = form.operand_count() == enable + 2;
  if (form.operand_count() != enable + 1 && !shifts) form.unsupported("the number of operands");
  if (shifts && *kind != TensorKind::f16 && *kind != TensorKind::tf32) form.unsupported("scale-input-d of this kind");

  std::uint32_t offsets = take_tensor_address(form, form.operand(0));
  if (in_tensor_memory)
    offsets |= take_tensor_address(form, form.operand(1));
  else
    form.source(1, Type::b64);
  form.source(2, Type::b64);
  form.source(3, Type::b32);
  form.predicate_source(form.operand(enable));
  form.begin_list();
  if (scales != 0) {
    offsets |= take_tensor_address(form, form.operand(4));
    offsets |= take_tensor_address(form, form.operand(5), true);
  } else if (masked) {
    const auto masks = form.elements(4);
    if (masks.size() != static_cast<std::size_t>(4 * blocks))
      form.unsupported(fmt::format("disable-output-lane needs {} masks", 4 * blocks));
    for (const ptx::Operand& mask : masks) form.list_source(mask, Type::b32);
    form.instruction().aux1 = static_cast<std::uint32_t>(masks.size());
  }
  if (offsets != 0) form.unsupported("an address of tensor memory with an offset");
  if (shifts) {
    const ptx::Operand& shift = form.operand(enable + 1);
    if (shift.kind != ptx::Operand::Kind::integer || shift.bits > 15)
      form.unsupported("scale-input-d must be a number from 0 to 15");
    form.instruction().immediate = static_cast<std::int64_t>(shift.bits);
  }
  form.instruction().aux0 = static_cast<std::uint32_t>(*kind) | (in_tensor_memory ? kFirstInTensorMemory : 0u) |
                            (blocks == 2 ? kOfPair : 0u) | scales << kScalesShift;
  form.mma(cost_form(*kind));
  form.emit(issue_tensor_product, OpClass::tensor_product);
}

}  // namespace evo::vgpu
