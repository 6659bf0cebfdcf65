#include "evaluator/cuda/digest_kernel.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "evaluator/device/digest.h"

namespace evo::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::uint64_t kMaxBlocks = 1024;

/// Each thread sums the mixed words i, i + threads of the grid, ...; a warp's lanes add up by shuffles, and the first
/// one adds to the result. Words that do not begin at a multiple of 8, as behind an output of bytes, are read byte by
/// byte.
constexpr const char* kDigestPtx = R"(.version 7.0
.target sm_70
.address_size 64

.visible .entry evo_digest(.param .u64 words, .param .u64 count, .param .u64 key, .param .u64 result)
{
  .reg .pred %done, %odd, %askew;
  .reg .b32 %t, %block, %threads, %blocks, %lane, %offset, %low, %high, %left;
  .reg .b64 %words, %count, %key, %result, %i, %stride, %address, %place, %z, %shifted, %sum, %byte;

  ld.param.u64 %words, [words];
  ld.param.u64 %count, [count];
  ld.param.u64 %key, [key];
  ld.param.u64 %result, [result];
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
  @%askew bra word_of_bytes;
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

word_of_bytes:
  add.u64 %address, %address, 7;
  mov.u64 %z, 0;
  mov.u32 %left, 8;
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

}  // namespace

const char* digest_ptx() {
  return kDigestPtx;
}

DigestKernel::DigestKernel(const Driver& driver) : driver_(driver) {
  CUmodule module = nullptr;
  require(driver, driver.module_load(&module, kDigestPtx), "loading the kernel that takes digests");
  module_ = OwnedModule(driver, module);
  require(driver, driver.module_function(&function_, module, "evo_digest"), "the kernel that takes digests");
}

std::vector<std::uint64_t> DigestKernel::operator()(std::span<const DeviceRange> ranges, std::uint64_t key,
                                                    CUstream stream) {
  constexpr const char* kTaking = "taking digests";
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  if (ranges.empty()) return {};
  if (ranges.size() > room_) {
    CUdeviceptr sums = 0;
    require(driver_, driver_.memory_allocate(&sums, ranges.size() * kWord), "allocating digests");
    sums_ = OwnedMemory(driver_, sums);
    room_ = ranges.size();
  }
  require(driver_, driver_.memory_set(sums_.get(), 0, ranges.size() * kWord, stream), kTaking);
  std::vector<std::array<std::byte, kWord>> rests(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto [address, bytes] = ranges[i];
    const std::uint64_t words = bytes / kWord;
    if (words > 0) start(address, words, key, sums_.get() + i * kWord, stream);
    if (const std::size_t rest = bytes % kWord; rest > 0)
      require(driver_, driver_.copy_to_host(rests[i].data(), address + words * kWord, rest, stream), kTaking);
  }
  std::vector<std::uint64_t> sums(ranges.size());
  require(driver_, driver_.copy_to_host(sums.data(), sums_.get(), sums.size() * kWord, stream), kTaking);
  require(driver_, driver_.stream_synchronize(stream), kTaking);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::size_t bytes = ranges[i].bytes;
    sums[i] += digest_of_rest(std::span(rests[i]).first(bytes % kWord), bytes / kWord, key);
  }
  return sums;
}

void DigestKernel::start(CUdeviceptr address, std::uint64_t words, std::uint64_t key, CUdeviceptr result,
                         CUstream stream) const {
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(std::min(kMaxBlocks, (words + kThreads - 1) / kThreads));
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = kThreads;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  std::array<void*, 4> parameters = {&address, &words, &key, &result};
  require(driver_, driver_.launch(&config, function_, parameters.data(), nullptr), "taking a digest");
}

}  // namespace evo::cuda
