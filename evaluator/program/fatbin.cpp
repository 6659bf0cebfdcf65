#include "evaluator/program/fatbin.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "evaluator/program/refusal.h"

namespace evo::program {
namespace {

// The wrapper is public (fatbinary_section.h). The container is not: its layout is as many programs that read it know
// it.
struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;  ///< 1: one fat binary; 2: already linked, and `linked` lists its parts.
  const void* data;
  const void* const* linked;
};
constexpr std::uint32_t kWrapperMagic = 0x466243b1;

struct Header {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;  ///< Of all entries.
};
constexpr std::uint32_t kMagic = 0xba55ed50;

struct EntryHeader {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;  ///< Of the entry as it is stored, with padding.
  std::uint32_t compressed_bytes;
  std::uint32_t options_offset;
  std::uint16_t minor, major;  ///< Of the code's version.
  std::uint32_t sm;
  std::uint32_t name_offset;
  std::uint32_t name_bytes;
  std::uint64_t flags;
  std::uint64_t reserved;
  std::uint64_t decompressed_bytes;
};
static_assert(sizeof(EntryHeader) == 64);
constexpr std::uint16_t kPtx = 1, kElf = 2;
constexpr std::uint64_t kLz4 = 0x2000, kZstd = 0x8000;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 31;

[[noreturn]] void refuse(const std::string& why) {
  say(why);
  throw Refusal(Code::invalid_image);
}

/// A function of a library that Debian's package `package` has.
template <class Function>
Function* function_of(const char* library, const char* name, const char* package) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void* found = handle == nullptr ? nullptr : dlsym(handle, name);
  if (found == nullptr)
    refuse(fmt::format("the program's code is compressed, and {} is missing: install {}", library, package));
  return reinterpret_cast<Function*>(found);
}

std::string decompressed(const EntryHeader& entry, std::string_view stored) {
  if ((entry.flags & (kLz4 | kZstd)) == 0) return std::string(stored);
  if (entry.decompressed_bytes > kMostBytes || entry.compressed_bytes > stored.size())
    refuse("a compressed entry of the program's code has impossible sizes");
  std::string out(entry.decompressed_bytes, '\0');
  bool whole = false;
  if ((entry.flags & kLz4) != 0) {
    static const auto lz4 =
        function_of<int(const char*, char*, int, int)>("liblz4.so.1", "LZ4_decompress_safe", "liblz4-1");
    const int bytes =
        lz4(stored.data(), out.data(), static_cast<int>(entry.compressed_bytes), static_cast<int>(out.size()));
    whole = bytes >= 0 && static_cast<std::size_t>(bytes) == out.size();
  } else {
    static const auto zstd = function_of<std::size_t(void*, std::size_t, const void*, std::size_t)>(
        "libzstd.so.1", "ZSTD_decompress", "libzstd1");
    whole = zstd(out.data(), out.size(), stored.data(), entry.compressed_bytes) == out.size();
  }
  if (!whole) refuse("a compressed entry of the program's code is damaged");
  return out;
}

void read_fatbin(const std::byte* at, CodeImage& image) {
  Header header{};
  std::memcpy(&header, at, sizeof header);
  if (header.magic != kMagic) refuse("the program's code is in a container of an unknown kind");
  const std::byte* next = at + header.header_bytes;
  const std::byte* end = next + header.bytes;
  while (end - next >= static_cast<std::ptrdiff_t>(sizeof(EntryHeader))) {
    EntryHeader entry{};
    std::memcpy(&entry, next, sizeof entry);
    const auto left = static_cast<std::uint64_t>(end - next);
    if (entry.header_bytes < sizeof entry || entry.header_bytes > left || entry.bytes > left - entry.header_bytes)
      refuse("an entry of the program's code is longer than its container");
    const std::string_view stored(reinterpret_cast<const char*>(next + entry.header_bytes), entry.bytes);
    if (entry.kind == kPtx || entry.kind == kElf) {
      FatbinEntry read{entry.kind == kPtx, static_cast<int>(entry.sm), decompressed(entry, stored)};
      if (read.ptx) read.data.resize(std::strlen(read.data.c_str()));  // Without the zeros behind it.
      image.entries.push_back(std::move(read));
    }
    next += entry.header_bytes + entry.bytes;
  }
}

/// Bytes of an ELF file, which ends with its section headers or its segments.
std::size_t bytes_of(const Elf64_Ehdr& header) {
  return std::max<std::size_t>(header.e_shoff + std::size_t{header.e_shentsize} * header.e_shnum,
                               header.e_phoff + std::size_t{header.e_phentsize} * header.e_phnum);
}

bool looks_like_ptx(const char* text) {
  for (int i = 0; i < 65536 && *text != '\0'; ++i, ++text)
    if (std::strncmp(text, ".version", 8) == 0) return true;
  return false;
}

}  // namespace

CodeImage read_image(const void* at) {
  CodeImage image;
  std::uint32_t magic = 0;
  std::memcpy(&magic, at, sizeof magic);
  if (magic == kWrapperMagic) {
    Wrapper wrapper{};
    std::memcpy(&wrapper, at, sizeof wrapper);
    if (wrapper.data != nullptr) read_fatbin(static_cast<const std::byte*>(wrapper.data), image);
    if (wrapper.version == 2 && wrapper.linked != nullptr)
      for (const void* const* part = wrapper.linked; *part != nullptr; ++part)
        read_fatbin(static_cast<const std::byte*>(*part), image);
  } else if (magic == kMagic) {
    read_fatbin(static_cast<const std::byte*>(at), image);
  } else if (std::memcmp(at, ELFMAG, SELFMAG) == 0) {
    Elf64_Ehdr header{};
    std::memcpy(&header, at, sizeof header);
    image.entries.push_back({false, 0, std::string(static_cast<const char*>(at), bytes_of(header))});
  } else if (looks_like_ptx(static_cast<const char*>(at))) {
    image.entries.push_back({true, 0, std::string(static_cast<const char*>(at))});
  } else {
    refuse("the program loads code that is no fat binary, cubin or PTX");
  }
  return image;
}

}  // namespace evo::program
