#include "evaluator/vgpu/machine/printf.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "evaluator/vgpu/machine/block.h"

namespace evo::vgpu {
namespace {

constexpr std::size_t kMostCharacters = 4096;
constexpr std::size_t kMostDigits = 3;  // Of a width or precision: longer numbers are not readable text.

/// Reads the arguments one after another from a thread's local memory, or from global memory.
class Arguments {
 public:
  Arguments(const Warp& warp, int lane, std::uint64_t address) : warp_(warp), lane_(lane), at_(address) {}

  template <class T>
  T next() {
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value{};
    if (const std::byte* bytes = bytes_at(at_, sizeof(T))) std::memcpy(&value, bytes, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

 private:
  const std::byte* bytes_at(std::uint64_t address, std::size_t bytes) const {
    const std::uint64_t local_bytes = warp_.launch->kernel->local_bytes;
    const std::uint64_t offset = address - kLocalWindow;
    if (offset < local_bytes && bytes <= local_bytes - offset) {
      return warp_.local + local_bytes * static_cast<std::uint64_t>(lane_) + offset;
    }
    const Allocation* buffer = warp_.launch->memory->find(address);
    return buffer != nullptr && bytes <= buffer->end - address ? buffer->host + (address - buffer->begin) : nullptr;
  }

  const Warp& warp_;
  int lane_;
  std::uint64_t at_;
};

template <class T>
std::string formatted(const std::string& directive, T value) {
  char text[512];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
  const int length = std::snprintf(text, sizeof text, directive.c_str(), value);
#pragma GCC diagnostic pop
  return {text, static_cast<std::size_t>(std::clamp(length, 0, static_cast<int>(sizeof text) - 1))};
}

}  // namespace

std::string string_at(const Warp& warp, std::uint64_t address) {
  const Allocation* buffer = warp.launch->memory->find(address);
  if (buffer == nullptr) return {};
  const char* begin = reinterpret_cast<const char*>(buffer->host + (address - buffer->begin));
  const std::size_t most = std::min<std::size_t>(buffer->end - address, kMostCharacters);
  return {begin, std::find(begin, begin + most, '\0')};
}

PrintedText format_printf(const Warp& warp, int lane, std::uint64_t format_address, std::uint64_t arguments_address) {
  const std::string format = string_at(warp, format_address);
  Arguments arguments(warp, lane, arguments_address);
  std::string out;
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    std::string directive = "%";
    std::size_t longs = 0, digits = 0;
    for (++i; i < format.size() && std::string_view("-+ #0123456789.lhzjt*").find(format[i]) != std::string_view::npos;
         ++i) {
      if (format[i] == 'l' || format[i] == 'z' || format[i] == 'j' || format[i] == 't') ++longs;
      digits = format[i] >= '0' && format[i] <= '9' ? digits + 1 : 0;
      if (format[i] == '*') {
        ++count;
        directive += std::to_string(std::clamp(arguments.next<std::int32_t>(), -200, 200));
      } else if (std::string_view("lhzjt").find(format[i]) == std::string_view::npos && directive.size() < 32 &&
                 digits <= kMostDigits) {
        directive += format[i];
      }
    }
    if (i >= format.size()) break;
    const char kind = format[i];
    if (kind == '%') {
      out += '%';
      continue;
    }
    ++count;
    if (std::string_view("di").find(kind) != std::string_view::npos) {
      out += longs > 0 ? formatted(directive + "lld", static_cast<long long>(arguments.next<std::int64_t>()))
                       : formatted(directive + "d", static_cast<int>(arguments.next<std::int32_t>()));
    } else if (std::string_view("uxXo").find(kind) != std::string_view::npos) {
      out += longs > 0
                 ? formatted(directive + "ll" + kind, static_cast<unsigned long long>(arguments.next<std::uint64_t>()))
                 : formatted(directive + kind, static_cast<unsigned>(arguments.next<std::uint32_t>()));
    } else if (std::string_view("fFeEgGaA").find(kind) != std::string_view::npos) {
      out += formatted(directive + kind, arguments.next<double>());
    } else if (kind == 'c') {
      out += formatted(directive + "c", static_cast<int>(arguments.next<std::int32_t>()));
    } else if (kind == 'p') {
      out += formatted(directive + "p", reinterpret_cast<void*>(arguments.next<std::uint64_t>()));
    } else if (kind == 's') {
      const std::string text = string_at(warp, arguments.next<std::uint64_t>());
      out += directive == "%" ? text : formatted(directive + "s", text.c_str());
    }
  }
  return {std::move(out), count};
}

}  // namespace evo::vgpu
