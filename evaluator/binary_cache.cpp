#include "evaluator/binary_cache.h"

#include <fmt/format.h>

#include <utility>

namespace evo {
namespace {

std::string key_of(const protocol::Compile& request) {
  return fmt::format("{} {} {}", request.arch, request.max_registers, request.source);
}

std::size_t bytes_of(const std::string& key, const Binary& binary) {
  return key.size() + binary.ptx.size() + binary.cubin.size();
}

}  // namespace

std::optional<Binary> BinaryCache::find(const protocol::Compile& request) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key_of(request));
  if (found == by_key_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->binary;
}

void BinaryCache::keep(const protocol::Compile& request, const Binary& binary) {
  const std::lock_guard lock(mutex_);
  std::string key = key_of(request);
  if (by_key_.contains(key)) return;
  bytes_ += bytes_of(key, binary);
  entries_.push_front({std::move(key), binary});
  by_key_.emplace(entries_.front().key, entries_.begin());
  while (bytes_ > budget_) {
    const Entry& oldest = entries_.back();
    bytes_ -= bytes_of(oldest.key, oldest.binary);
    by_key_.erase(oldest.key);
    entries_.pop_back();
  }
}

}  // namespace evo
