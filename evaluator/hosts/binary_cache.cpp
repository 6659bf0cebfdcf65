#include "evaluator/hosts/binary_cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>

namespace evo {
namespace {

std::string key_of(const protocol::Compile& request) {
  return fmt::format("{} {} {} {} {} {} {}\n{}", request.arch, request.max_registers, fmt::join(request.kernels, ";"),
                     fmt::join(request.variables, ";"), request.name, fmt::join(request.options, ";"),
                     fmt::join(request.include_folders, ";"), request.source);
}

}  // namespace

std::optional<Binary> BinaryCache::find(const protocol::Compile& request) {
  const std::lock_guard lock(mutex_);
  const Binary* found = binaries_.find(key_of(request));
  return found == nullptr ? std::nullopt : std::optional(*found);
}

void BinaryCache::keep(const protocol::Compile& request, const Binary& binary) {
  const std::lock_guard lock(mutex_);
  std::string key = key_of(request);
  const std::size_t bytes = key.size() + binary.ptx.size() + binary.cubin.size();
  binaries_.put(std::move(key), binary, bytes);
}

}  // namespace evo
