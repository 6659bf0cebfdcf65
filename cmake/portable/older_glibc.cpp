// What a compiler of a newer system takes from a glibc newer than 2.34, so that the program starts where there is 2.34.
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

// glibc 2.35 has another hypot, which differs in errno alone.
extern "C" double evo_older_hypot(double x, double y);
asm(".symver evo_older_hypot, hypot@GLIBC_2.2.5");
extern "C" double __wrap_hypot(double x, double y) { return evo_older_hypot(x, y); }

#if __GLIBC__ == 2 && __GLIBC_MINOR__ >= 35
// std::random_device asks it, since glibc 2.36.
extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  if (getentropy(&value, sizeof value) != 0) std::abort();
  return value;
}

namespace {

struct Sought {
  std::uintptr_t address;
  dl_find_object* found;
};

/// Fills in the object whose loaded segments hold the address.
int look_into(dl_phdr_info* object, std::size_t, void* data) {
  const Sought& sought = *static_cast<Sought*>(data);
  std::uintptr_t begin = UINTPTR_MAX, end = 0, frames = 0;
  bool holds = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const std::uintptr_t at = object->dlpi_addr + segment.p_vaddr, behind = at + segment.p_memsz;
    if (segment.p_type == PT_GNU_EH_FRAME) frames = at;
    if (segment.p_type != PT_LOAD) continue;
    begin = at < begin ? at : begin;
    end = behind > end ? behind : end;
    holds = holds || (sought.address >= at && sought.address < behind);
  }
  if (!holds || frames == 0) return 0;
  *sought.found = {};
  sought.found->dlfo_map_start = reinterpret_cast<void*>(begin);
  sought.found->dlfo_map_end = reinterpret_cast<void*>(end);
  sought.found->dlfo_eh_frame = reinterpret_cast<void*>(frames);
  return 1;
}

}  // namespace

// Exceptions find the tables of the code that they unwind by it, since glibc 2.35.
extern "C" int _dl_find_object(void* address, dl_find_object* found) noexcept {
  Sought sought{reinterpret_cast<std::uintptr_t>(address), found};
  return dl_iterate_phdr(look_into, &sought) == 1 ? 0 : -1;
}
#endif
