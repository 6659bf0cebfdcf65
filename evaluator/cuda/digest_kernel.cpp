#include "evaluator/cuda/digest_kernel.h"

#include <algorithm>
#include <array>
#include <span>

namespace evo::cuda {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

/// Each thread sums the mixed words i, i + threads of the grid's row, ...; a warp's lanes add up by shuffles, and the
/// first one adds to the result. Words that do not begin at a multiple of 8, as behind an output of bytes, are read
/// byte by byte, and so is a last word that is not whole.
constexpr const char* kDigestPtx = R"(.version 7.0
.target sm_70
.address_size 64

.visible .entry evo_digest(.param .align 8 .b8 ranges[1024], .param .u64 key, .param .u64 results)
{
  .reg .pred %done, %odd, %askew;
  .reg .b32 %t, %block, %threads, %blocks, %lane, %offset, %low, %high, %left, %rest, %row;
  .reg .b64 %words, %count, %whole, %key, %result, %i, %stride, %address, %place, %z, %shifted, %sum, %byte, %range;

  mov.u32 %row, %ctaid.y;
  mul.wide.u32 %place, %row, 16;
  mov.b64 %range, ranges;
  add.u64 %range, %range, %place;
  ld.param.u64 %words, [%range];
  ld.param.u64 %count, [%range+8];
  ld.param.u64 %key, [key];
  ld.param.u64 %result, [results];
  mul.wide.u32 %place, %row, 8;
  add.u64 %result, %result, %place;
  cvt.u32.u64 %rest, %count;
  and.b32 %rest, %rest, 7;
  shr.u64 %whole, %count, 3;
  add.u64 %count, %count, 7;
  shr.u64 %count, %count, 3;
  cvta.to.global.u64 %words, %words;
  cvta.to.global.u64 %result, %result;

  mov.u32 %t, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %blocks, %nctaid.x;
  mad.lo.u32 %offset, %block, %threads, %t;
  cvt.u64.u32 %i, %offset;
  mul.wide.u32 %stride, %threads, %blocks;
  mov.u64 %sum, 0;
  and.b64 %byte, %words, 7;
  setp.ne.u64 %askew, %byte, 0;

next_word:
  setp.ge.u64 %done, %i, %count;
  @%done bra lanes;
  shl.b64 %address, %i, 3;
  add.u64 %address, %words, %address;
  mov.u32 %left, 8;
  @%askew bra last_word;
  setp.ge.u64 %odd, %i, %whole;
  @%odd bra last_word;
  ld.global.u64 %z, [%address];
mix:
  add.u64 %place, %i, %key;
  shr.u64 %shifted, %place, 30;
  xor.b64 %place, %place, %shifted;
  mul.lo.u64 %place, %place, 0xBF58476D1CE4E5B9;
  shr.u64 %shifted, %place, 27;
  xor.b64 %place, %place, %shifted;
  mul.lo.u64 %place, %place, 0x94D049BB133111EB;
  shr.u64 %shifted, %place, 31;
  xor.b64 %place, %place, %shifted;
  add.u64 %z, %z, %place;
  shr.u64 %shifted, %z, 30;
  xor.b64 %z, %z, %shifted;
  mul.lo.u64 %z, %z, 0xBF58476D1CE4E5B9;
  shr.u64 %shifted, %z, 27;
  xor.b64 %z, %z, %shifted;
  mul.lo.u64 %z, %z, 0x94D049BB133111EB;
  shr.u64 %shifted, %z, 31;
  xor.b64 %z, %z, %shifted;
  add.u64 %sum, %sum, %z;
  add.u64 %i, %i, %stride;
  bra next_word;

last_word:
  setp.ge.u64 %odd, %i, %whole;
  @%odd mov.u32 %left, %rest;
  cvt.u64.u32 %byte, %left;
  add.u64 %address, %address, %byte;
  sub.u64 %address, %address, 1;
  mov.u64 %z, 0;
next_byte:
  ld.global.u8 %byte, [%address];
  shl.b64 %z, %z, 8;
  or.b64 %z, %z, %byte;
  sub.u64 %address, %address, 1;
  sub.u32 %left, %left, 1;
  setp.ne.u32 %odd, %left, 0;
  @%odd bra next_byte;
  bra mix;

lanes:
  mov.u32 %offset, 16;
half:
  mov.b64 {%low, %high}, %sum;
  shfl.sync.bfly.b32 %low, %low, %offset, 31, 0xffffffff;
  shfl.sync.bfly.b32 %high, %high, %offset, 31, 0xffffffff;
  mov.b64 %z, {%low, %high};
  add.u64 %sum, %sum, %z;
  shr.u32 %offset, %offset, 1;
  setp.ne.u32 %odd, %offset, 0;
  @%odd bra half;

  and.b32 %lane, %t, 31;
  setp.ne.u32 %done, %lane, 0;
  @%done ret;
  red.global.add.u64 [%result], %sum;
  ret;
}
)";

static_assert(sizeof(DigestedRanges) == 1024, "as evo_digest declares it");

}  // namespace

const char* digest_ptx() {
  return kDigestPtx;
}

DigestKernel::DigestKernel(const Driver& driver)
    : driver_(driver), kernel_(driver, kDigestPtx, "evo_digest"), pinned_(driver) {}

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
