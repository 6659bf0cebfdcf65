// What ptxas makes of operands in registers: no emulation of PTX shows it.
#include <elf.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tests/templates/shipped.h"

using namespace evo;
using namespace evo::test;

namespace {

template <class T>
T read(const std::vector<std::byte>& file, std::size_t at) {
  T value;
  if (at + sizeof(T) > file.size()) FAIL("a cubin that ends early");
  std::memcpy(&value, file.data() + at, sizeof(T));
  return value;
}

/// The machine code of the kernels in a cubin for sm_90: 16 bytes an instruction.
std::vector<std::uint64_t> instructions(const std::vector<std::byte>& cubin) {
  const auto header = read<Elf64_Ehdr>(cubin, 0);
  const auto section = [&](int i) { return read<Elf64_Shdr>(cubin, header.e_shoff + i * sizeof(Elf64_Shdr)); };
  const Elf64_Shdr names = section(header.e_shstrndx);
  std::vector<std::uint64_t> words;
  for (int i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr one = section(i);
    const char* name = reinterpret_cast<const char*>(cubin.data() + names.sh_offset + one.sh_name);
    if (!std::string_view(name).starts_with(".text.")) continue;
    for (std::size_t at = 0; at < one.sh_size; at += 16)
      words.push_back(read<std::uint64_t>(cubin, one.sh_offset + at));
  }
  return words;
}

/// Warpgroup products of one form (columns, order of b), and the registers that they read their first operand from.
struct Product {
  std::uint64_t form = 0;
  std::set<int> registers;
};

/// Of attention: that of queries and keys, then those of weights and values.
std::vector<Product> products(const std::vector<std::byte>& cubin) {
  constexpr std::uint64_t kOpcode = 0xfff, kHalfProduct = 0xdf0, kCodeProduct = 0xdf3;  // HGMMA and QGMMA
  std::vector<Product> found;
  for (const std::uint64_t word : instructions(cubin)) {
    if ((word & kOpcode) != kHalfProduct && (word & kOpcode) != kCodeProduct) continue;
    auto product = std::ranges::find(found, word >> 48, &Product::form);
    if (product == found.end()) product = found.insert(found.end(), {word >> 48, {}});
    for (int i = 0; i < 4; ++i) product->registers.insert(static_cast<int>(word >> 24 & 0xff) + i);
  }
  return found;
}

}  // namespace

TEST_CASE("queries in registers keep them while weights are multiplied", "[long]") {
  int programs = 0;
  for (const auto& [task, shape] : {std::pair{"f16_sdpa", "mission"}, std::pair{"f16_sdpa", "large"},
                                    std::pair{"fp8_sdpa", "mission"}, std::pair{"fp8_sdpa", "d128"}}) {
    const Aimed aimed(task, hopper(), {shape});
    const Space space = aimed.space();
    Rng rng(1);
    for (const char* schedule : {"sequential", "early_output"}) {
      for (const std::int64_t keys : {64, 96, 128}) {
        const Genome wish{"wgmma",
                          {{"schedule", std::string(schedule)},
                           {"tile_k", keys},
                           {"q_operand", std::string("registers")},
                           {"warpgroups_q", std::int64_t{2}}}};
        const auto genome = space.complete(wish, {"schedule", "tile_k", "q_operand", "warpgroups_q"}, rng);
        if (!genome) continue;  // The family has a constraint against it.
        INFO(task << " " << shape << " " << to_text(*genome));
        const Program program = aimed.candidate(space, *genome).programs.front();
        const auto result = nvrtc_or_skip().compile(program.source, "sm_90a", program.max_registers);
        REQUIRE(std::holds_alternative<Binary>(result));
        const std::vector<Product> found = products(std::get<Binary>(result).cubin);
        REQUIRE(found.size() >= 2);
        ++programs;
        for (std::size_t i = 1; i < found.size(); ++i) {
          for (const int used : found.front().registers) CHECK_FALSE(found[i].registers.contains(used));
        }
      }
    }
  }
  CHECK(programs >= 16);
}
