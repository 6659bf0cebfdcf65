#include "evaluator/vgpu/machine/memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "engine/base/error.h"
#include "evaluator/base/random.h"

namespace evo::vgpu {
namespace {

// Wide enough for an index that misses by a whole row; addresses cost nothing.
constexpr std::uint64_t kGap = 1ull << 20;
// What scatter() adds are pages, up to so many: at first and in each gap.
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kFirstPages = 1ull << 26;
constexpr std::uint64_t kGapPages = 1ull << 14;

std::uint64_t aligned(std::uint64_t address, std::uint64_t alignment) {
  return (address + alignment - 1) / alignment * alignment;
}

/// A block of the heap with what the allocator adds.
std::uint64_t heap_cost(std::uint64_t bytes) {
  return bytes + 16;
}

}  // namespace

void GlobalMemory::scatter(std::uint64_t salt) {
  next_ += kPage * (mix(salt, "first buffer") % kFirstPages);
  salt_ = salt;
}

Allocation& GlobalMemory::place(std::uint64_t begin, std::size_t bytes, std::string name, bool read_only) {
  auto owned = std::make_unique<Owned>();
  // new[] of std::byte is 16-byte aligned at least: enough for the widest host access we make.
  owned->bytes.reset(new (std::nothrow) std::byte[std::max<std::size_t>(bytes, 1)]);
  if (!owned->bytes) {
    throw machine_error(fmt::format("out of memory: no {} bytes for '{}' on the virtual GPU", bytes, name));
  }
  std::memset(owned->bytes.get(), kFreshByte, bytes);
  owned->allocation = {begin, begin + bytes, owned->bytes.get(), std::move(name), read_only, false};
  Allocation& allocation = owned->allocation;
  insert(std::move(owned));
  return allocation;
}

void GlobalMemory::insert(std::unique_ptr<Owned> owned) {
  const auto behind = std::ranges::upper_bound(buffers_, owned->allocation.begin, {},
                                               [](const auto& one) { return one->allocation.begin; });
  buffers_.insert(behind, std::move(owned));
}

/// Whether no buffer is there, nor within a gap of it.
bool GlobalMemory::is_free(std::uint64_t begin, std::uint64_t end) const {
  return std::ranges::none_of(buffers_, [&](const auto& one) {
    return one->allocation.begin < end + kGap && begin < one->allocation.end + kGap;
  });
}

std::uint64_t GlobalMemory::move_away(std::uint64_t address) {
  const Allocation* buffer = find(address);
  if (!salt_ || buffer == nullptr) return 0;
  const std::uint64_t bytes = buffer->end - buffer->begin;
  std::uint64_t begin = 0;
  do {
    begin = kGlobalBegin + kPage * (mix(mix(*salt_, "move"), moves_++) % kFirstPages) + buffer->begin % kPage;
  } while (!is_free(begin, begin + bytes));
  const std::uint64_t by = begin - buffer->begin;
  move(address, by);
  return by;
}

void GlobalMemory::move(std::uint64_t address, std::uint64_t by) {
  const auto found = std::ranges::find_if(buffers_, [&](const auto& owned) {
    return address >= owned->allocation.begin && address < owned->allocation.end;
  });
  if (found == buffers_.end()) return;
  std::unique_ptr<Owned> owned = std::move(*found);
  buffers_.erase(found);
  owned->allocation.begin += by;
  owned->allocation.end += by;
  insert(std::move(owned));
}

std::uint64_t GlobalMemory::allocate(std::size_t bytes, std::string name, bool read_only) {
  const std::uint64_t begin = place(next_, bytes, std::move(name), read_only).begin;
  const std::uint64_t pages = salt_ ? mix(*salt_, next_) % kGapPages : 0;
  next_ = aligned(next_ + bytes + kGap + pages * kPage, alignment_);
  return begin;
}

std::uint64_t GlobalMemory::allocate_shared(std::size_t bytes, std::string name) {
  auto owned = std::make_unique<Owned>();
  owned->bytes.reset(new (std::nothrow) std::byte[bytes + alignment_]());
  if (!owned->bytes) throw machine_error(fmt::format("out of memory: no {} bytes for '{}'", bytes, name));
  const std::uint64_t begin = aligned(reinterpret_cast<std::uint64_t>(owned->bytes.get()), alignment_);
  owned->allocation = {begin, begin + bytes, reinterpret_cast<std::byte*>(begin), std::move(name)};
  insert(std::move(owned));
  return begin;
}

void GlobalMemory::share(std::span<std::byte> host, std::string name) {
  auto owned = std::make_unique<Owned>();
  const auto begin = reinterpret_cast<std::uint64_t>(host.data());
  owned->allocation = {begin, begin + host.size(), host.data(), std::move(name)};
  insert(std::move(owned));
}

std::uint64_t GlobalMemory::allocate_for_launch(std::size_t bytes, std::string name) {
  const std::uint64_t begin = place(next_of_launch_, bytes, std::move(name), false).begin;
  next_of_launch_ = aligned(next_of_launch_ + bytes + kGap, alignment_);
  return begin;
}

void GlobalMemory::free(std::uint64_t address) {
  const auto found = std::find_if(buffers_.begin(), buffers_.end(),
                                  [&](const auto& owned) { return owned->allocation.begin == address; });
  if (found == buffers_.end())
    throw machine_error(fmt::format("no buffer of the virtual GPU begins at {:#x}", address));
  if ((*found)->allocation.of_heap) heap_bytes_ -= heap_cost((*found)->allocation.end - address);
  buffers_.erase(found);
}

void GlobalMemory::make_table(std::uint64_t address) {
  if (!has_tables_) return;
  for (const auto& owned : buffers_)
    if (owned->allocation.begin == address) owned->allocation.table = owned->allocation.closed = true;
}

void GlobalMemory::close_all_but(std::span<const std::uint64_t> addresses) {
  for (const auto& owned : buffers_) {
    Allocation& buffer = owned->allocation;
    buffer.closed = buffer.table || std::ranges::none_of(addresses, [&](std::uint64_t address) {
                      return address >= buffer.begin && address < buffer.end;
                    });
  }
}

void GlobalMemory::open_all() {
  for (const auto& owned : buffers_) owned->allocation.closed = owned->allocation.table;
}

std::uint64_t GlobalMemory::allocate_from_heap(std::uint64_t bytes) {
  if (bytes == 0 || bytes > kHeapBytes || heap_cost(bytes) > kHeapBytes - heap_bytes_) return 0;
  Allocation& block = place(next_of_launch_, bytes, "malloc", false);
  block.of_heap = true;
  next_of_launch_ = aligned(block.end + kGap, alignment_);
  heap_bytes_ += heap_cost(bytes);
  return block.begin;
}

std::vector<std::uint64_t> GlobalMemory::clear_heap() {
  std::vector<std::uint64_t> freed;
  for (const auto& owned : buffers_)
    if (owned->allocation.of_heap) freed.push_back(owned->allocation.begin);
  std::erase_if(buffers_, [](const auto& owned) { return owned->allocation.of_heap; });
  heap_bytes_ = 0;
  ++heaps_;
  next_of_launch_ = kLaunchesBegin + (salt_ ? kPage * (mix(mix(*salt_, "heap"), heaps_) % kFirstPages) : 0);
  return freed;
}

const Allocation* GlobalMemory::find(std::uint64_t address) const {
  const auto behind =
      std::upper_bound(buffers_.begin(), buffers_.end(), address,
                       [](std::uint64_t at, const auto& owned) { return at < owned->allocation.begin; });
  if (behind == buffers_.begin()) return nullptr;
  const Allocation& candidate = (*std::prev(behind))->allocation;
  return address < candidate.end ? &candidate : nullptr;
}

const Allocation* GlobalMemory::nearest(std::uint64_t address) const {
  const Allocation* best = nullptr;
  std::uint64_t best_distance = ~0ull;
  for (const auto& owned : buffers_) {
    const Allocation& buffer = owned->allocation;
    const std::uint64_t distance =
        address < buffer.begin ? buffer.begin - address : (address >= buffer.end ? address - buffer.end + 1 : 0);
    if (distance >= best_distance) continue;
    best = &buffer;
    best_distance = distance;
  }
  return best;
}

std::byte* GlobalMemory::at(std::uint64_t address, std::size_t bytes) const {
  const Allocation* buffer = find(address);
  if (buffer == nullptr && bytes == 0) {
    // Zero bytes at the end of a buffer are allowed.
    return nullptr;
  }
  if (buffer == nullptr || bytes > buffer->end - address) {
    throw machine_error(
        fmt::format("{} bytes at {} are not memory of the virtual GPU", bytes, describe_address(*this, address)));
  }
  return buffer->host + (address - buffer->begin);
}

std::string describe_address(const GlobalMemory& memory, std::uint64_t address) {
  const Allocation* buffer = memory.nearest(address);
  if (buffer == nullptr) return fmt::format("{:#x}", address);
  const auto place = fmt::format("'{}' ({:#x}, {} bytes)", buffer->name, buffer->begin, buffer->end - buffer->begin);
  if (address < buffer->begin) return fmt::format("{:#x}, {} bytes before {}", address, buffer->begin - address, place);
  if (address < buffer->end) return fmt::format("{:#x}, at byte {} of {}", address, address - buffer->begin, place);
  return fmt::format("{:#x}, {} bytes behind the end of {}", address, address - buffer->end, place);
}

}  // namespace evo::vgpu
