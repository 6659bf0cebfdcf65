#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace evo::vgpu {

/// Where the state spaces lie in the generic address space. Shared, local and parameter addresses are window
/// + offset.
constexpr std::uint64_t kSharedWindow = 0x7a00'0000'0000ull;
constexpr std::uint64_t kLocalWindow = 0x7b00'0000'0000ull;
constexpr std::uint64_t kParameterWindow = 0x7c00'0000'0000ull;
constexpr std::uint64_t kWindowBytes = 1ull << 32;
constexpr std::uint64_t kLaunchesBegin = 0x7d00'0000'0000ull;  ///< What launches have for themselves.
constexpr std::uint64_t kGlobalBegin = 0x7f00'0000'0000ull;

/// The first KiB of shared memory belongs to the system on sm_80 and newer; it also makes null pointers
/// findable.
constexpr std::uint32_t kReservedSmemBytes = 1024;

/// As large as a GPU's, unless the host asks for more (CUDA C++ Programming Guide, "Heap Memory Allocation").
constexpr std::uint64_t kHeapBytes = 8u << 20;

/// What every byte holds before a kernel writes it. A GPU leaves there what was there before: a kernel that relies on
/// zeros is noticed.
constexpr int kFreshByte = 0xcb;

/// One buffer of global memory.
struct Allocation {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::byte* host = nullptr;  ///< Where `begin` is in this process.
  std::string name;
  bool read_only = false;  ///< Constant memory.
  bool of_heap = false;    ///< By malloc in a kernel.
  bool table = false;      ///< A variable that its program only reads.
  bool closed = false;     ///< No kernel may write it: a table, or no buffer of the plan that runs.
};

/// Global memory: named buffers with unmapped gaps between them. An access beyond the end of one never hits another.
class GlobalMemory {
 public:
  /// From now on nobody can foresee where a buffer will be, nor how far from another one. What is modelled does not
  /// change: places within pages stay.
  void scatter(std::uint64_t salt);
  /// 256-byte aligned (512 for a host that shares its memory), filled with kFreshByte. Throws machine_error when memory
  /// is exhausted.
  std::uint64_t allocate(std::size_t bytes, std::string name, bool read_only = false);
  /// As allocate(), of zeros, and the host reaches it at the same address.
  std::uint64_t allocate_shared(std::size_t bytes, std::string name);
  /// Memory of the host becomes a buffer at the host's own address.
  void share(std::span<std::byte> host, std::string name);
  /// For a host that shares its memory: buffers are placed from there on, where the host has nothing. It may hand out
  /// the address of any variable, so that none is a table.
  void share_with_host(std::uint64_t begin) {
    next_ = begin;
    alignment_ = 512;  // Of textures: the host may make one of any buffer.
    has_tables_ = false;
  }
  void free(std::uint64_t address);
  /// Moves the buffer that holds `address` to where nobody can foresee it; its place within a page stays. Returns how
  /// far, which may wrap. 0 without scatter().
  std::uint64_t move_away(std::uint64_t address);
  /// Moves the buffer that holds `address` by so much, to where no other one is.
  void move(std::uint64_t address, std::uint64_t by);
  /// The buffer at `address` is a variable that its program only reads: a kernel that writes it has got there by an
  /// address of something else.
  void make_table(std::uint64_t address);
  /// Until open_all() kernels may only write the buffers that hold these addresses.
  void close_all_but(std::span<const std::uint64_t> addresses);
  void open_all();
  /// For a launch alone. Its address says nothing of the calls before clear_heap().
  std::uint64_t allocate_for_launch(std::size_t bytes, std::string name);
  /// What malloc in a kernel returns: 0 for no bytes, and when the heap is full.
  std::uint64_t allocate_from_heap(std::uint64_t bytes);
  /// Frees all that kernels still have from malloc. Returns where that was.
  std::vector<std::uint64_t> clear_heap();

  /// The buffer that holds the address; null when there is none.
  const Allocation* find(std::uint64_t address) const;
  /// The buffer nearest to the address; null when there is none at all.
  const Allocation* nearest(std::uint64_t address) const;
  /// Where the bytes are. Throws machine_error when they are not all inside one buffer.
  std::byte* at(std::uint64_t address, std::size_t bytes) const;

 private:
  struct Owned {
    Allocation allocation;
    std::unique_ptr<std::byte[]> bytes;
  };
  Allocation& place(std::uint64_t begin, std::size_t bytes, std::string name, bool read_only);
  void insert(std::unique_ptr<Owned> owned);
  bool is_free(std::uint64_t begin, std::uint64_t end) const;

  std::vector<std::unique_ptr<Owned>> buffers_;  ///< By ascending address.
  std::uint64_t alignment_ = 256;
  std::uint64_t next_ = kGlobalBegin, next_of_launch_ = kLaunchesBegin;
  std::uint64_t heaps_ = 0;            ///< How many were cleared.
  std::uint64_t moves_ = 0;            ///< How many were drawn.
  std::optional<std::uint64_t> salt_;  ///< Of the gaps; none: all are alike.
  std::uint64_t heap_bytes_ = 0;       ///< In use.
  bool has_tables_ = true;
};

/// "0x7f0000000100, 16 bytes behind 'q' (0x7f0000000000, 256 bytes)": for reports of bad accesses.
std::string describe_address(const GlobalMemory& memory, std::uint64_t address);

}  // namespace evo::vgpu
