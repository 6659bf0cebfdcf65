#include "evaluator/cuda/write_kernel.h"

#include <algorithm>
#include <array>

namespace evo::cuda {
namespace {

constexpr std::uint64_t kUnit = 16;

/// Each thread writes the units of 16 bytes i, i + threads of the grid's row, ...; then the bytes that are left. Where
/// an address is no multiple of 16 all are left.
constexpr const char* kWritePtx = R"(.version 7.0
.target sm_70
.address_size 64

.visible .entry evo_write(.param .align 8 .b8 table[2048])
{
  .reg .pred %done, %fills, %askew;
  .reg .b32 %t, %block, %threads, %blocks, %offset, %row;
  .reg .b64 %to, %from, %bytes, %value, %low, %high, %units, %first, %i, %stride, %place, %target, %source, %entry;

  mov.u32 %row, %ctaid.y;
  mul.wide.u32 %place, %row, 32;
  mov.b64 %entry, table;
  add.u64 %entry, %entry, %place;
  ld.param.u64 %to, [%entry];
  ld.param.u64 %from, [%entry+8];
  ld.param.u64 %bytes, [%entry+16];
  ld.param.u64 %value, [%entry+24];
  setp.eq.u64 %fills, %from, 0;
  or.b64 %place, %to, %from;
  and.b64 %place, %place, 15;
  setp.ne.u64 %askew, %place, 0;
  shr.u64 %units, %bytes, 4;
  @%askew mov.u64 %units, 0;
  cvta.to.global.u64 %to, %to;
  cvta.to.global.u64 %from, %from;

  mov.u32 %t, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %blocks, %nctaid.x;
  mad.lo.u32 %offset, %block, %threads, %t;
  cvt.u64.u32 %first, %offset;
  mul.wide.u32 %stride, %threads, %blocks;

  mov.u64 %i, %first;
next_unit:
  setp.ge.u64 %done, %i, %units;
  @%done bra left_bytes;
  shl.b64 %place, %i, 4;
  add.u64 %target, %to, %place;
  add.u64 %source, %from, %place;
  mov.u64 %low, %value;
  mov.u64 %high, %value;
  @%fills bra store_unit;
  ld.global.v2.u64 {%low, %high}, [%source];
store_unit:
  st.global.v2.u64 [%target], {%low, %high};
  add.u64 %i, %i, %stride;
  bra next_unit;

left_bytes:
  shl.b64 %i, %units, 4;
  add.u64 %i, %i, %first;
next_byte:
  setp.ge.u64 %done, %i, %bytes;
  @%done ret;
  add.u64 %target, %to, %i;
  add.u64 %source, %from, %i;
  mov.u64 %low, %value;
  @%fills bra store_byte;
  ld.global.u8 %low, [%source];
store_byte:
  st.global.u8 [%target], %low;
  add.u64 %i, %i, %stride;
  bra next_byte;
}
)";

static_assert(sizeof(WriteTable) == 2048, "as evo_write declares it");

}  // namespace

const char* write_ptx() {
  return kWritePtx;
}

WriteKernel::WriteKernel(const Driver& driver) : driver_(driver), kernel_(driver, kWritePtx, "evo_write") {}

void WriteKernel::operator()(std::span<const DeviceWrite> writes, CUstream stream) const {
  for (; writes.size() > kWrites; writes = writes.subspan(kWrites)) launch(writes.first(kWrites), stream);
  if (!writes.empty()) launch(writes, stream);
}

void WriteKernel::launch(std::span<const DeviceWrite> writes, CUstream stream) const {
  constexpr std::uint64_t kEachByte = 0x0101010101010101;
  WriteTable table{};
  std::ranges::transform(writes, table.entries, [](const DeviceWrite& one) {
    return WriteTable::Entry{one.to, one.from, one.bytes, kEachByte * std::to_integer<std::uint64_t>(one.value)};
  });
  const std::uint64_t units = std::ranges::max(writes, {}, &DeviceWrite::bytes).bytes / kUnit + 1;
  std::array<void*, 1> parameters = {&table};
  require(driver_, kernel_.launch(writes.size(), units, parameters, stream), "writing memory");
}

}  // namespace evo::cuda
