// Any text is a PTX module or a LoadError; each kernel that loads runs, plainly and watched, to an end or to
// a failure.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "evaluator/vgpu/loaded_module.h"
#include "evaluator/vgpu/machine/block_scheduler.h"
#include "evaluator/vgpu/numbers/tensor_map.h"
#include "evaluator/vgpu/ptx/load_error.h"
#include "evaluator/vgpu/ptx/parser.h"
#include "evaluator/vgpu/sanitiser/sanitiser.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using namespace evo;
using namespace evo::vgpu;

constexpr std::size_t kBufferBytes = 4096;
// Modules with large variables are valid but slow, so they are left out here.
constexpr std::uint64_t kMostVariableBytes = 1u << 16;

bool is_modest(const std::string& text) {
  const auto module = ptx::parse(text);
  std::uint64_t bytes = 0;
  for (const ptx::Variable& variable : module->variables) bytes += variable.bytes;
  for (const ptx::Function& function : module->functions)
    for (const ptx::Variable& variable : function.variables) bytes += variable.bytes;
  return bytes <= kMostVariableBytes;
}

/// Pointers to the first buffers, a tensor map over the first one, small numbers.
std::vector<std::byte> arguments_of(const Kernel& kernel, const std::vector<std::uint64_t>& buffers) {
  std::vector<std::byte> bytes(kernel.parameter_bytes);
  std::size_t pointers = 0;
  for (const KernelParameter& parameter : kernel.parameters) {
    const auto put = [&](const auto& value) { std::memcpy(bytes.data() + parameter.offset, &value, sizeof value); };
    if (parameter.bytes == 8) put(buffers[pointers++ % buffers.size()]);
    if (parameter.bytes == 4) put(std::uint32_t{3});
    if (parameter.bytes == kTensorMapBytes) {
      TensorMapObject map;
      map.address = buffers[0];
      map.stride_bytes = {64};
      map.last = {15, 31};
      map.box = {16, 4};
      map.element_stride = {1, 1, 1, 1, 1};
      map.rank = 2;
      map.element = TensorElement::u32;
      put(map);
    }
  }
  return bytes;
}

void run(const Kernel& kernel, GlobalMemory& memory, const std::vector<std::uint64_t>& buffers, Sanitiser* sanitiser) {
  vgpu::Launch launch;
  launch.kernel = &kernel;
  launch.memory = &memory;
  launch.grid = {2, 1, 1};
  launch.block = {kernel.warpgroup_forms.empty() ? 64u : 128u, 1, 1};
  if (sanitiser != nullptr) launch.cluster = {2, 1, 1};
  launch.dynamic_smem_bytes = 1024;
  launch.registers_per_thread = 64;
  launch.numerics = tensor_core_numerics(90);
  launch.sm_count = 2;
  launch.resident_blocks = 2;
  launch.budget = {.warp_instructions = 500, .launch_instructions = 3000};
  launch.parameters = arguments_of(kernel, buffers);
  launch.observer = sanitiser;
  if (sanitiser != nullptr) sanitiser->begin_launch(launch);
  run_blocks(launch);
  if (sanitiser != nullptr) sanitiser->end_launch(launch);
}

void use(const std::string& text) {
  if (!is_modest(text)) return;
  GlobalMemory memory;
  std::vector<std::uint64_t> buffers;
  for (const char* name : {"a", "b", "c"}) buffers.push_back(memory.allocate(kBufferBytes, name));
  const LoadedModule module(memory, text, Build{});
  Sanitiser sanitiser;
  for (const std::string& name : module.kernel_names()) {
    try {
      const Kernel& kernel = *module.kernel(name);
      run(kernel, memory, buffers, nullptr);
      run(kernel, memory, buffers, &sanitiser);
    } catch (const LoadError&) {
      // Other kernels of the module may run.
    }
  }
}

// ---- Mutation by what PTX is made of: lines, and the words in them.

using Random = std::minstd_rand;

std::size_t below(Random& random, std::size_t count) {
  return count == 0 ? 0 : random() % count;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (lines.empty()) lines.emplace_back();
  return lines;
}

std::size_t written(const std::vector<std::string>& lines, std::uint8_t* data, std::size_t max_size) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  const std::size_t size = std::min(text.size(), max_size);
  std::memcpy(data, text.data(), size);
  return size;
}

/// Words with what stands before them: ".f32", "r4", "%tid", "7".
std::vector<std::string_view> words_of(std::string_view line) {
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':'; };
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    std::size_t end = at + 1;
    while (end < line.size() && in_word(line[end])) ++end;
    if (line[at] == '.' || line[at] == '%' || in_word(line[at])) words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

bool alike(std::string_view a, std::string_view b) {
  const auto kind = [](std::string_view word) {
    return std::isdigit(static_cast<unsigned char>(word[0]))   ? '0'
           : std::isalpha(static_cast<unsigned char>(word[0])) ? 'a'
                                                               : word[0];
  };
  return kind(a) == kind(b);
}

/// Puts a word of the donor in the place of one of the line, a modifier for a modifier, an operand for an
/// operand.
void exchange_word(std::string& line, const std::string& donor, Random& random) {
  const auto words = words_of(line), others = words_of(donor);
  if (words.empty() || others.empty()) return;
  const std::string_view old = words[below(random, words.size())];
  const std::string_view fresh = others[below(random, others.size())];
  if (!alike(old, fresh)) return;
  const auto at = static_cast<std::size_t>(old.data() - line.data());
  line = line.substr(0, at) + std::string(fresh) + line.substr(at + old.size());
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  Random random(seed + 1);
  if (below(random, 3) == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::vector<std::string> lines = lines_of({reinterpret_cast<const char*>(data), size});
  const std::size_t at = below(random, lines.size()), other = below(random, lines.size());
  switch (below(random, 6)) {
    case 0:
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), std::string(lines[other]));
      break;
    case 2:
      std::swap(lines[at], lines[other]);
      break;
    default:
      exchange_word(lines[at], std::string(lines[other]), random);
      break;
  }
  return written(lines, data, max_size);
}

/// The first text with lines, or a word, of the second.
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* first, std::size_t first_size,
                                                 const std::uint8_t* second, std::size_t second_size, std::uint8_t* out,
                                                 std::size_t max_size, unsigned seed) {
  Random random(seed + 1);
  std::vector<std::string> lines = lines_of({reinterpret_cast<const char*>(first), first_size});
  const std::vector<std::string> donor = lines_of({reinterpret_cast<const char*>(second), second_size});
  const std::size_t at = below(random, lines.size()), from = below(random, donor.size());
  if (below(random, 2) == 0) {
    exchange_word(lines[at], donor[from], random);
  } else {
    const std::size_t count = std::min(donor.size() - from, 1 + below(random, 6));
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), donor.begin() + static_cast<std::ptrdiff_t>(from),
                 donor.begin() + static_cast<std::ptrdiff_t>(from + count));
  }
  return written(lines, out, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    use({reinterpret_cast<const char*>(data), size});
  } catch (const Error&) {
    // One line for the user.
  } catch (const LoadError&) {
    // A module that cannot be loaded.
  }
  return 0;
}
