#include "evaluator/program/cubin_facts.h"

#include <elf.h>

#include <cstring>
#include <optional>
#include <vector>

namespace evo::program {
namespace {

/// An ELF file, read with every bound checked.
class Elf {
 public:
  explicit Elf(std::string_view file) : file_(file) {
    const auto header = read<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
    for (std::uint64_t i = 0; i < header->e_shnum; ++i)
      if (const auto section = read<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr)))
        sections_.push_back(*section);
    names_ = header->e_shstrndx;
  }

  std::optional<Elf64_Shdr> section(std::string_view name) const {
    for (const Elf64_Shdr& one : sections_)
      if (text(names_, one.sh_name) == name) return one;
    return std::nullopt;
  }
  std::string_view bytes(const Elf64_Shdr& section) const {
    const bool inside = section.sh_offset <= file_.size() && section.sh_size <= file_.size() - section.sh_offset;
    return inside ? file_.substr(section.sh_offset, section.sh_size) : std::string_view();
  }
  /// A name in the section of texts with this number.
  std::string_view text(std::uint64_t section, std::uint64_t offset) const {
    if (section >= sections_.size()) return {};
    const std::string_view all = bytes(sections_[section]);
    if (offset >= all.size()) return {};
    return all.substr(offset, strnlen(all.data() + offset, all.size() - offset));
  }
  template <class Value>
  std::optional<Value> read(std::uint64_t offset) const {
    return value_in<Value>(file_, offset);
  }
  template <class Value>
  static std::optional<Value> value_in(std::string_view in, std::uint64_t offset) {
    if (offset > in.size() || sizeof(Value) > in.size() - offset) return std::nullopt;
    Value value{};
    std::memcpy(&value, in.data() + offset, sizeof value);
    return value;
  }

 private:
  std::string_view file_;
  std::vector<Elf64_Shdr> sections_;
  std::uint64_t names_ = 0;
};

/// An entry of .nv.info: what cuobjdump --dump-elf lists as EIATTR_*.
struct Attribute {
  std::uint8_t format;  ///< 4: `bytes` follow.
  std::uint8_t kind;
  std::uint16_t bytes;
};
constexpr std::uint8_t kWithBytes = 4, kRegisterCount = 0x2f;
struct RegisterCount {
  std::uint32_t symbol;
  std::uint32_t registers;
};

}  // namespace

std::map<std::string, KernelBuild> kernels_of_cubin(std::string_view cubin) {
  std::map<std::string, KernelBuild> kernels;
  const Elf elf(cubin);
  const auto info = elf.section(".nv.info"), symbols = elf.section(".symtab");
  if (!info || !symbols) return kernels;
  const std::string_view attributes = elf.bytes(*info);
  std::uint64_t at = 0;
  while (const auto attribute = Elf::value_in<Attribute>(attributes, at)) {
    at += sizeof(Attribute);
    if (attribute->format != kWithBytes) continue;
    const auto count = Elf::value_in<RegisterCount>(attributes, at);
    at += attribute->bytes;
    if (attribute->kind != kRegisterCount || !count) continue;
    const auto symbol = Elf::value_in<Elf64_Sym>(elf.bytes(*symbols), std::uint64_t{count->symbol} * sizeof(Elf64_Sym));
    if (!symbol) continue;
    kernels[std::string(elf.text(symbols->sh_link, symbol->st_name))].registers = static_cast<int>(count->registers);
  }
  return kernels;
}

}  // namespace evo::program
