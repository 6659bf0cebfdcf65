#include "evaluator/cuda/digest_kernel.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace evo::embedded {
extern const std::string_view digest_ptx;  // digest.ptx
}

namespace evo::cuda {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

static_assert(sizeof(DigestedRanges) == 1024, "as evo_digest declares it");

}  // namespace

const char* digest_ptx() {
  return embedded::digest_ptx.data();
}

DigestKernel::DigestKernel(const Driver& driver)
    : driver_(driver), kernel_(driver, embedded::digest_ptx.data(), "evo_digest"), pinned_(driver) {}

void DigestKernel::reserve(std::size_t count) {
  if (count <= room_) return;
  CUdeviceptr sums = 0;
  require(driver_, driver_.memory_allocate(&sums, count * kWord), "allocating digests");
  sums_ = OwnedMemory(driver_, sums);
  pinned_.of(count * kWord);
  room_ = count;
}

CUresult DigestKernel::start(std::span<const DeviceRange> ranges, std::uint64_t key, CUstream stream) {
  found_ = {};
  if (ranges.empty()) return CUDA_SUCCESS;
  const std::span<std::byte> pinned = pinned_.of(ranges.size() * kWord);
  CUresult result = driver_.memory_set(sums_.get(), 0, pinned.size(), stream);
  for (std::size_t first = 0; first < ranges.size() && result == CUDA_SUCCESS; first += kDigestRanges) {
    const std::size_t count = std::min(kDigestRanges, ranges.size() - first);
    result = launch(ranges.subspan(first, count), key, sums_.get() + first * kWord, stream);
  }
  if (result == CUDA_SUCCESS) result = driver_.copy_to_host(pinned.data(), sums_.get(), pinned.size(), stream);
  found_ = {reinterpret_cast<const std::uint64_t*>(pinned.data()), ranges.size()};
  return result;
}

CUresult DigestKernel::launch(std::span<const DeviceRange> ranges, std::uint64_t key, CUdeviceptr results,
                              CUstream stream) const {
  DigestedRanges table{};
  std::ranges::copy(ranges, table.ranges);
  const std::uint64_t words = std::ranges::max(ranges, {}, &DeviceRange::bytes).bytes / kWord + 1;
  std::array<void*, 3> parameters = {&table, &key, &results};
  return kernel_.launch(ranges.size(), words, parameters, stream);
}

}  // namespace evo::cuda
