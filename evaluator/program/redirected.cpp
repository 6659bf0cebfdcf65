#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "evaluator/program/refusal.h"
#include "evaluator/program/symbols.h"

/// A runtime that is linked statically, as nvcc does by default, is in the program itself, and no library of ours
/// comes between. When a program is loaded, the runtime's functions in it are therefore made to jump to those of this
/// library. The program's symbol table says where they are.
namespace evo::program {
namespace {

/// "FF 25 0", and the address to jump to.
struct [[gnu::packed]] FarJump {
  std::uint8_t opcode[6] = {0xff, 0x25, 0, 0, 0, 0};
  std::uint64_t to = 0;
};
/// "E9", and how far to jump.
constexpr std::size_t kNearJumpBytes = 5;
constexpr std::size_t kReach = std::size_t{1} << 30;

struct Redirection {
  std::byte* from = nullptr;
  void* to = nullptr;
};

/// A file of which parts are read.
class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat facts {};
    if (fstat(file, &facts) == 0 && facts.st_size > 0) {
      bytes_ = static_cast<std::size_t>(facts.st_size);
      void* at = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
      if (at != MAP_FAILED) begin_ = static_cast<const std::byte*>(at);
    }
    close(file);
  }
  ~MappedFile() {
    if (begin_ != nullptr) munmap(const_cast<std::byte*>(begin_), bytes_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Null where the file does not hold them.
  template <class Element>
  const Element* at(std::uint64_t offset, std::uint64_t count = 1) const {
    const bool inside = begin_ != nullptr && offset <= bytes_ && count <= (bytes_ - offset) / sizeof(Element);
    return inside ? reinterpret_cast<const Element*>(begin_ + offset) : nullptr;
  }
  /// A text that ends inside the file.
  std::string_view text(std::uint64_t offset) const {
    const char* begin = at<char>(offset);
    return begin == nullptr ? std::string_view() : std::string_view(begin, strnlen(begin, bytes_ - offset));
  }

 private:
  const std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Names for streams of threads ("_ptsz", "_ptds") mean the same here.
void* ours(std::string_view name) {
  for (const std::string_view ending : {"_ptsz", "_ptds"})
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  return function_called(std::string(name));
}

bool is_of_runtime(std::string_view name) {
  return name.starts_with("cuda") || name.starts_with("__cuda");
}

std::vector<Redirection> redirections_of(const MappedFile& file, std::byte* base) {
  std::vector<Redirection> found;
  const auto* header = file.at<Elf64_Ehdr>(0);
  if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return found;
  const auto* sections = file.at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  for (std::size_t i = 0; sections != nullptr && i < header->e_shnum; ++i) {
    const Elf64_Shdr& section = sections[i];
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= header->e_shnum) continue;
    const std::uint64_t count = section.sh_size / sizeof(Elf64_Sym);
    const auto* symbols = file.at<Elf64_Sym>(section.sh_offset, count);
    for (std::uint64_t n = 0; symbols != nullptr && n < count; ++n) {
      const Elf64_Sym& symbol = symbols[n];
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || symbol.st_size < kNearJumpBytes)
        continue;
      const std::string_view name = file.text(sections[section.sh_link].sh_offset + symbol.st_name);
      if (!is_of_runtime(name)) continue;
      if (void* to = ours(name)) found.push_back({base + symbol.st_value, to});
    }
  }
  return found;
}

/// Pages near enough to `to` for near jumps.
std::byte* pages_near(const std::byte* to, std::size_t bytes) {
  for (std::size_t away = kReach / 64; away < kReach; away += kReach / 64) {
    void* at = mmap(const_cast<std::byte*>(to + away), bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (at != MAP_FAILED) return static_cast<std::byte*>(at);
  }
  return nullptr;
}

/// Changes code that nobody runs yet.
void write_code(std::byte* at, const void* code, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(at) / page * page;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(at) + bytes;
  void* first = reinterpret_cast<void*>(begin);
  if (mprotect(first, end - begin, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return;
  std::memcpy(at, code, bytes);
  mprotect(first, end - begin, PROT_READ | PROT_EXEC);
}

void redirect(const std::vector<Redirection>& all) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = (all.size() * sizeof(FarJump) + page - 1) / page * page;
  std::byte* stubs =
      pages_near(reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(all.front().from) / page * page), bytes);
  if (stubs == nullptr) {
    say("the statically linked CUDA runtime of the program cannot be replaced: link it with -cudart shared");
    return;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    FarJump far;
    far.to = reinterpret_cast<std::uint64_t>(all[i].to);
    std::byte* stub = stubs + i * sizeof far;
    std::memcpy(stub, &far, sizeof far);
    std::uint8_t near[kNearJumpBytes] = {0xe9};
    const auto distance = static_cast<std::int32_t>(stub - (all[i].from + kNearJumpBytes));
    std::memcpy(near + 1, &distance, sizeof distance);
    write_code(all[i].from, near, sizeof near);
  }
  mprotect(stubs, bytes, PROT_READ | PROT_EXEC);
}

int redirect_object(dl_phdr_info* info, std::size_t, void*) {
  const bool program = info->dlpi_name == nullptr || *info->dlpi_name == '\0';
  const char* path = program ? "/proc/self/exe" : info->dlpi_name;
  // The runtime as a library is ours already.
  const std::string_view file_name(path);
  if (file_name.find("libcudart") != std::string_view::npos || file_name.find("libevo_cuda") != std::string_view::npos)
    return 0;
  const MappedFile file(path);
  const std::vector<Redirection> all = redirections_of(file, reinterpret_cast<std::byte*>(info->dlpi_addr));
  if (!all.empty()) redirect(all);
  return 0;
}

/// Before the program's own constructors, which register its code.
[[gnu::constructor]] void redirect_all() {
  dl_iterate_phdr(redirect_object, nullptr);
}

}  // namespace
}  // namespace evo::program
