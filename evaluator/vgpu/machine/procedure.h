#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Functions that are called and not inlined: recursive ones, and those that are called through pointers. This is what
/// the decoder finds out about them; control_transfer.h calls them.
namespace evo::vgpu {

/// The address of a module's function, by its number: a table of them is the same for all kernels.
constexpr std::uint64_t kCodeBegin = 0x7800'0000'0000ull;
constexpr std::uint64_t kCodeStep = 16;
constexpr std::uint64_t function_address(std::size_t number) {
  return kCodeBegin + kCodeStep * (number + 1);
}

/// Local memory for the frames of called functions, for each thread. A GPU gives 1 KiB unless the host asks
/// for more.
constexpr std::uint32_t kStackBytes = 16 * 1024;
constexpr std::uint32_t kFrameAlignment = 16;

/// Some bytes of a frame.
struct FramePart {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
};

/// A function with code of its own.
struct Procedure {
  std::string name;
  std::uint32_t entry = 0;  ///< Instruction.
  std::uint32_t end = 0;    ///< One behind its last instruction.
  std::uint32_t frame_bytes = 0;
  std::vector<FramePart> results;
  std::vector<FramePart> parameters;
  struct Saved {
    std::uint32_t place = 0;
    bool wide = false;
  };
  std::vector<Saved> registers;  ///< That it writes.
  std::vector<std::uint32_t> predicates;
};

/// Where a call's arguments and results are: in the caller's frame.
struct CallSite {
  std::uint32_t procedure = 0;  ///< Unless the call goes through a pointer.
  bool framed = false;          ///< The caller is a procedure; else its variables lie at the start of local memory.
  std::vector<FramePart> results;
  std::vector<FramePart> arguments;
};

}  // namespace evo::vgpu
