#include "evaluator/program/machine.h"

#include <fmt/format.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include "engine/base/error.h"

namespace evo::program {
namespace {

// What `evo vgpu --program` says to the library, by the environment (cli/kernel/host_program.cpp).
const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

void say(const std::string& line) {
  std::fflush(stdout);
  std::fprintf(stderr, "evo: %s\n", line.c_str());
}

void not_offered(const char* function) {
  static std::map<std::string, bool> said;
  machine().report().not_offered(function);
  if (!said[function]) say(fmt::format("the virtual GPU does not offer {}", function));
  said[function] = true;
  throw Refusal(Code::not_supported);
}

Machine::Machine() : report_(setting("EVO_PROGRAM_REPORT")) {
  const std::string model = setting("EVO_PROGRAM_DEVICE");
  try {
    gpu_ = vgpu::make_device(model.empty() ? vgpu::model_names().front() : model,
                             static_cast<int>(std::thread::hardware_concurrency()));
  } catch (const Error& error) {
    say(error.what());
    std::_Exit(2);
  }
  gpu_->share_with_host(kDeviceMemory);
  if (*setting("EVO_PROGRAM_SANITISE") != '\0') gpu_->sanitise();
  if (const char* most = setting("EVO_PROGRAM_MAX_INSTRUCTIONS"); *most != '\0')
    gpu_->limit_instructions(std::strtoull(most, nullptr, 10));
  report_.write();
}

Address Machine::allocate(std::size_t bytes, MemoryKind kind, unsigned flags, const Pool* pool) {
  require(bytes <= free_bytes(), Code::out_of_memory);
  Range range;
  range.bytes = bytes;
  range.kind = kind;
  range.flags = flags;
  range.number = ++numbers_;
  range.pool = pool;
  const std::string name = fmt::format("{} {}",
                                       kind == MemoryKind::managed  ? "managed memory"
                                       : kind == MemoryKind::pinned ? "pinned memory"
                                                                    : "allocation",
                                       range.number);
  try {
    range.begin = kind == MemoryKind::device ? gpu_->allocate(bytes, name) : gpu_->allocate_shared(bytes, name);
  } catch (const Error&) {
    throw Refusal(Code::out_of_memory);
  }
  if (kind != MemoryKind::pinned) used_ += bytes;
  ranges_[range.begin] = range;
  return range.begin;
}

void Machine::register_host(void* host, std::size_t bytes, unsigned flags) {
  const auto begin = reinterpret_cast<Address>(host);
  require(host != nullptr && bytes > 0);
  const auto next = ranges_.lower_bound(begin);
  require(range_of(begin) == nullptr && (next == ranges_.end() || next->first >= begin + bytes),
          Code::already_registered);
  Range range{begin, bytes, MemoryKind::registered, flags, ++numbers_};
  gpu_->share({static_cast<std::byte*>(host), bytes}, fmt::format("registered memory {}", range.number));
  ranges_[begin] = range;
}

void Machine::release(Address begin, MemoryKind kind) {
  const auto found = ranges_.find(begin);
  const bool device = kind == MemoryKind::device;
  const Code otherwise = kind == MemoryKind::registered ? Code::not_registered : Code::invalid_value;
  require(found != ranges_.end(), otherwise);
  require(found->second.kind == kind || (device && found->second.kind == MemoryKind::managed), otherwise);
  if (kind == MemoryKind::device) used_ -= found->second.bytes;
  gpu_->free(begin);
  ranges_.erase(found);
}

const Range* Machine::range_of(Address address) const {
  auto behind = ranges_.upper_bound(address);
  if (behind == ranges_.begin()) return nullptr;
  const Range& range = std::prev(behind)->second;
  return address < range.begin + std::max<std::size_t>(range.bytes, 1) ? &range : nullptr;
}

std::size_t Machine::free_bytes() const {
  return static_cast<std::size_t>(info().memory_bytes) - used_;
}

std::size_t Machine::bytes_in(const Pool& pool) const {
  std::size_t sum = 0;
  for (const auto& [begin, range] : ranges_)
    if (range.pool == &pool) sum += range.bytes;
  return sum;
}

void Machine::show_printed() {
  if (printed_.empty()) return;
  std::fwrite(printed_.data(), 1, printed_.size(), stdout);
  std::fflush(stdout);
  printed_.clear();
}

void Machine::reset() {
  show_printed();
  for (const auto& [begin, range] : ranges_) gpu_->free(begin);
  ranges_.clear();
  used_ = 0;
  if (!forked_) broken.reset();
}

void Machine::become_forked() {
  // Another thread may have held it, which is not in this process.
  new (&lock_) std::recursive_mutex;
  if (!begun_) return;
  forked_ = true;
  broken = Code::not_initialized;
  printed_.clear();
  report_.forget();
}

Machine& machine() {
  // Never destroyed: programs free memory and unregister code when they end. What is left to do then is done here.
  static Machine* const only = [] {
    auto* const made = new Machine;
    std::atexit([] {
      machine().show_printed();
      machine().report().write();
    });
    pthread_atfork(nullptr, nullptr, [] { machine().become_forked(); });
    return made;
  }();
  return *only;
}

}  // namespace evo::program
