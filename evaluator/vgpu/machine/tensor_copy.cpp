#include "evaluator/vgpu/machine/tensor_copy.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace evo::vgpu {
namespace {

constexpr std::uint32_t kChunk = 16;  ///< What swizzles move, and stores write, as one.
constexpr std::uint32_t kMaxRowBytes = 256 * 8;
constexpr std::uint16_t kGatheredRows = 4;

/// The fill mode for floats: the same 16 bits, whatever the elements are.
void fill_nan(std::byte* to, std::uint32_t bytes) {
  constexpr std::uint16_t kFill = 0x7ff7;
  for (std::uint32_t at = 0; at < bytes; at += sizeof kFill) std::memcpy(to + at, &kFill, sizeof kFill);
}

/// To the nearest number with ten bits of fraction. Subnormals are not flushed, whatever the element's name
/// says, and a NaN has all of them.
void round_to_tf32(std::byte* row, std::uint32_t bytes) {
  constexpr std::uint32_t kNan = 0x7fff'e000u, kDropped = 0x1fffu;
  for (std::uint32_t at = 0; at < bytes; at += 4) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, row + at, 4);
    const bool is_nan = (bits & 0x7fff'ffffu) > 0x7f80'0000u;
    bits = is_nan ? kNan : (bits + 0xfffu + (bits >> 13 & 1u)) & ~kDropped;
    std::memcpy(row + at, &bits, 4);
  }
}

bool is_float(TensorElement element) {
  return element != TensorElement::u8 && element != TensorElement::u16 && element != TensorElement::u32 &&
         element != TensorElement::s32 && element != TensorElement::u64 && element != TensorElement::s64;
}

void write_row(std::byte* shared, Swizzle swizzle, std::uint32_t at, const std::byte* row, std::uint32_t bytes) {
  if (swizzle == Swizzle::none) {
    std::memcpy(shared + at, row, bytes);
    return;
  }
  for (std::uint32_t done = 0; done < bytes; done += kChunk)
    std::memcpy(shared + swizzled(swizzle, at + done), row + done, kChunk);
}

void read_row(const std::byte* shared, Swizzle swizzle, std::uint32_t at, std::byte* row, std::uint32_t bytes) {
  if (swizzle == Swizzle::none) {
    std::memcpy(row, shared + at, bytes);
    return;
  }
  for (std::uint32_t done = 0; done < bytes; done += kChunk)
    std::memcpy(row + done, shared + swizzled(swizzle, at + done), kChunk);
}

}  // namespace

TensorBox::TensorBox(const TensorMapObject& map, const TensorCoordinates& at) : map_(map), at_(at) {
  const std::int64_t size = bytes_of(map.element);
  const std::int64_t begin = at[0];
  const std::int64_t end = std::min(begin + std::int64_t{map.box[0]}, static_cast<std::int64_t>(map.extent(0)));
  const std::int64_t first = std::max<std::int64_t>(begin, 0);
  if (first >= end) return;
  before_ = static_cast<std::uint32_t>((first - begin) * size);
  inside_ = static_cast<std::uint32_t>((end - first) * size);
}

TensorBox TensorBox::of_rows(const TensorMapObject& map, const TensorCoordinates& at) {
  TensorBox box(map, at);
  box.map_.box[1] = kGatheredRows;
  box.map_.element_stride[1] = 1;
  box.by_rows_ = true;
  return box;
}

std::string TensorBox::locate(const GlobalMemory& memory, bool writes) {
  // An H200 writes whole chunks, beyond the end of rows that are no whole number of them.
  if (writes) inside_ = (inside_ + kChunk - 1) / kChunk * kChunk;
  std::uint64_t rows = inside_ > 0 ? 1 : 0;
  std::uint64_t low = map_.address + static_cast<std::uint64_t>(std::max(at_[0], 0)) * bytes_of(map_.element);
  std::uint64_t high = low;
  for (std::size_t i = 1; i < map_.rank; ++i) {
    std::uint64_t inside = 0, first = 0, last = 0;
    for (std::uint32_t step = 0; step < map_.steps(i); ++step) {
      const std::int64_t x = coordinate(i, step);
      if (x < 0 || x > std::int64_t{map_.last[i]}) continue;
      const auto row = static_cast<std::uint64_t>(x);
      first = inside == 0 ? row : std::min(first, row);
      last = std::max(last, row);
      ++inside;
    }
    rows *= inside;
    low += first * map_.stride_bytes[i - 1];
    high += last * map_.stride_bytes[i - 1];
  }
  inside_bytes_ = rows * inside_;
  if (rows == 0) return {};
  const Allocation* buffer = memory.find(low);
  if (buffer == nullptr || high >= buffer->end || inside_ > buffer->end - high) {
    return fmt::format("the box reaches from {} to {}", describe_address(memory, low),
                       describe_address(memory, high + inside_ - 1));
  }
  if (writes && buffer->read_only) return "the tensor is in constant memory";
  if (writes && buffer->closed) return fmt::format("'{}' is no buffer of this launch", buffer->name);
  low_ = low;
  host_ = buffer->host + (low - buffer->begin);
  return {};
}

template <class Row>
void TensorBox::each_row(std::uint32_t offset, Row row) const {
  std::array<std::uint32_t, kMaxTensorRank> step{};
  const std::uint32_t row_bytes = map_.row_bytes();
  const std::uint32_t rows = map_.box_bytes() / row_bytes, pitch = map_.pitch_bytes();
  const std::uint64_t inner = map_.address + static_cast<std::uint64_t>(std::max(at_[0], 0)) * bytes_of(map_.element);
  for (std::uint32_t r = 0; r < rows; ++r) {
    bool inside = inside_ > 0;
    std::uint64_t address = inner;
    for (std::size_t i = 1; i < map_.rank; ++i) {
      const std::int64_t x = coordinate(i, step[i]);
      inside &= x >= 0 && x <= std::int64_t{map_.last[i]};
      address += static_cast<std::uint64_t>(x) * map_.stride_bytes[i - 1];
    }
    row(offset + r * pitch, inside ? inside_ : 0, inside ? host_ + (address - low_) : nullptr);
    for (std::size_t i = 1; i < map_.rank; ++i) {
      if (++step[i] < map_.steps(i)) break;
      step[i] = 0;
    }
  }
}

void TensorBox::each_piece(std::uint32_t offset,
                           const std::function<void(std::uint32_t, std::uint64_t, std::uint32_t)>& piece) const {
  each_row(offset, [&](std::uint32_t at, std::uint32_t inside, const std::byte* from) {
    const std::uint64_t address = inside > 0 ? low_ + static_cast<std::uint64_t>(from - host_) : 0;
    for (std::uint32_t done = 0; done < inside;) {
      const std::uint32_t to = at + before_ + done;
      const std::uint32_t here = std::min(inside - done, kChunk - to % kChunk);
      const std::uint32_t chunk = to / kChunk * kChunk;
      const std::uint32_t place = map_.swizzle == Swizzle::none ? chunk : swizzled(map_.swizzle, chunk);
      piece(place + to % kChunk, address + done, here);
      done += here;
    }
  });
}

void TensorBox::load(std::byte* shared, std::uint32_t offset) const {
  const std::uint32_t row_bytes = map_.row_bytes();
  std::byte row[kMaxRowBytes];
  each_row(offset, [&](std::uint32_t at, std::uint32_t inside, const std::byte* from) {
    if (inside < row_bytes) {
      if (map_.fills_with_nan != 0 && is_float(map_.element)) {
        fill_nan(row, row_bytes);
      } else {
        std::memset(row, 0, row_bytes);
      }
    }
    if (inside > 0) std::memcpy(row + before_, from, inside);
    if (map_.element == TensorElement::tf32 || map_.element == TensorElement::tf32_ftz)
      round_to_tf32(row + before_, inside);
    write_row(shared, map_.swizzle, at, row, row_bytes);
  });
}

void TensorBox::store(const std::byte* shared, std::uint32_t offset) const {
  std::byte row[kMaxRowBytes];
  each_row(offset, [&](std::uint32_t at, std::uint32_t inside, std::byte* to) {
    if (inside == 0) return;
    read_row(shared, map_.swizzle, at, row, map_.row_bytes());
    std::memcpy(to, row + before_, inside);
  });
}

void TensorBox::reduce(const std::byte* shared, std::uint32_t offset, Reduction reduction) const {
  std::byte row[kMaxRowBytes];
  each_row(offset, [&](std::uint32_t at, std::uint32_t inside, std::byte* to) {
    if (inside == 0) return;
    read_row(shared, map_.swizzle, at, row, map_.row_bytes());
    reduction.combine(to, row + before_, inside / reduction.bytes);
  });
}

}  // namespace evo::vgpu
