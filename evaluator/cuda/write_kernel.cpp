#include "evaluator/cuda/write_kernel.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace evo::embedded {
extern const std::string_view write_ptx;  // write.ptx
}

namespace evo::cuda {
namespace {

constexpr std::uint64_t kUnit = 16;

static_assert(sizeof(WriteTable) == 2048, "as evo_write declares it");

}  // namespace

const char* write_ptx() {
  return embedded::write_ptx.data();
}

WriteKernel::WriteKernel(const Driver& driver)
    : driver_(driver), kernel_(driver, embedded::write_ptx.data(), "evo_write") {}

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
