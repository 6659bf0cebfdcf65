#include "evaluator/compile/cubin.h"

#define XXH_INLINE_ALL
#include <elf.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

namespace evo {
namespace {

using Bytes = std::span<const std::byte>;

struct Section {
  std::string_view name;
  std::uint64_t size = 0;
  Bytes content;  ///< Empty where the file holds none (zeroed shared and global memory).

  friend bool operator<(const Section& a, const Section& b) { return a.name < b.name; }
};

std::optional<Bytes> slice(Bytes file, std::uint64_t offset, std::uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) return std::nullopt;
  return file.subspan(offset, size);
}

template <typename T>
std::optional<T> read(Bytes file, std::uint64_t offset) {
  const std::optional<Bytes> bytes = slice(file, offset, sizeof(T));
  if (!bytes) return std::nullopt;
  T value;
  std::memcpy(&value, bytes->data(), sizeof value);
  return value;
}

std::string_view name_at(Bytes names, std::uint32_t offset) {
  if (offset >= names.size()) return {};
  const char* begin = reinterpret_cast<const char*>(names.data()) + offset;
  return {begin, strnlen(begin, names.size() - offset)};
}

bool takes_part(std::string_view name) {
  // Everything that describes the text of the source, or how the compiler was called, stays out.
  constexpr std::array<std::string_view, 11> kLeftOut = {
      ".shstrtab",  ".strtab",     ".symtab",       ".debug",         ".nv_debug",    ".note",
      ".rel.debug", ".rela.debug", ".rel.nv_debug", ".rela.nv_debug", ".nv.callgraph"};
  return !name.empty() && std::none_of(kLeftOut.begin(), kLeftOut.end(),
                                       [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// The sections that take part, by name; empty when the file is not a 64-bit ELF file with a consistent
/// table.
std::vector<Section> sections_of(Bytes file) {
  const auto header = read<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  const auto entry = [&](std::uint64_t index) {
    return read<Elf64_Shdr>(file, header->e_shoff + index * sizeof(Elf64_Shdr));
  };
  const auto names_entry = entry(header->e_shstrndx);
  const auto names = names_entry ? slice(file, names_entry->sh_offset, names_entry->sh_size) : std::nullopt;
  if (!names || header->e_shentsize != sizeof(Elf64_Shdr)) return {};
  std::vector<Section> sections;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = entry(i);
    if (!section) return {};
    const std::string_view name = name_at(*names, section->sh_name);
    if (!takes_part(name)) continue;
    const auto content = section->sh_type == SHT_NOBITS ? Bytes{} : slice(file, section->sh_offset, section->sh_size);
    if (!content) return {};
    sections.push_back({name, section->sh_size, *content});
  }
  std::stable_sort(sections.begin(), sections.end());
  return sections;
}

/// Hashes the resource records of a kernel but for the register cap that it was compiled under: a cap that
/// changed nothing else made the same kernel. Records are a format, an attribute and 16 bits, which for
/// format 4 are the size of the payload behind them (as `cuobjdump -elf` prints them: EIFMT_SVAL,
/// EIATTR_MAXREG_COUNT).
void update_with_info(XXH3_state_t* state, Bytes info) {
  constexpr std::byte kSizedPayload{0x04}, kMaxRegCount{0x1b};
  while (info.size() >= 4) {
    std::uint16_t payload = 0;
    if (info[0] == kSizedPayload) std::memcpy(&payload, info.data() + 2, sizeof payload);
    const std::size_t size = std::min<std::size_t>(4u + payload, info.size());
    if (info[1] != kMaxRegCount) XXH3_128bits_update(state, info.data(), size);
    info = info.subspan(size);
  }
  XXH3_128bits_update(state, info.data(), info.size());
}

constexpr std::string_view kText = ".text.";

/// Without sections of kernels and functions that are not among `routines`, and without what is said of all together.
void keep_sections_of(const std::set<std::string>& routines, std::vector<Section>& sections) {
  std::vector<std::string> others;
  for (const Section& section : sections) {
    if (!section.name.starts_with(kText)) continue;
    const std::string name(section.name.substr(kText.size()));
    if (!routines.contains(name)) others.push_back("." + name);
  }
  std::erase_if(sections, [&](const Section& section) {
    return section.name == ".nv.info" ||
           std::ranges::any_of(others, [&](const std::string& other) { return section.name.ends_with(other); });
  });
}

std::string hash_of(const std::vector<Section>& sections, Bytes cubin) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), XXH3_freeState);
  XXH3_128bits_reset(state.get());
  for (const Section& section : sections) {
    XXH3_128bits_update(state.get(), section.name.data(), section.name.size());
    XXH3_128bits_update(state.get(), &section.size, sizeof section.size);
    if (section.name.starts_with(".nv.info.")) {
      update_with_info(state.get(), section.content);
    } else {
      XXH3_128bits_update(state.get(), section.content.data(), section.content.size());
    }
  }
  if (sections.empty()) XXH3_128bits_update(state.get(), cubin.data(), cubin.size());
  const XXH128_hash_t digest = XXH3_128bits_digest(state.get());
  return fmt::format("{:016x}{:016x}", digest.high64, digest.low64);
}

}  // namespace

std::string cubin_hash(Bytes cubin) {
  return hash_of(sections_of(cubin), cubin);
}

std::string cubin_hash(Bytes cubin, const std::set<std::string>& routines) {
  std::vector<Section> sections = sections_of(cubin);
  keep_sections_of(routines, sections);
  return hash_of(sections, cubin);
}

std::vector<Bytes> machine_code(Bytes cubin) {
  std::vector<Bytes> code;
  for (const Section& section : sections_of(cubin)) {
    if (section.name.starts_with(kText)) code.push_back(section.content);
  }
  return code;
}

}  // namespace evo
