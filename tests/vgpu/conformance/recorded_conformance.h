#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/vgpu/conformance/recorded_numerics.h"

/// The results of an H200 for the cases of instruction_forms.h, listed_forms.h, matrix_cases.h, warp_cases.h and
/// wgmma_cases.h: files of tests/data/numerics made by tests/gpu/record_conformance.cpp and select_conformance.py,
/// which documents the format.
namespace evo::vgpu {

struct RecordedCase {
  int bits = 32;           ///< Of an output.
  Checksum all;            ///< Over the words of all outputs.
  std::uint32_t step = 1;  ///< Every step-th output is kept.
  std::vector<std::uint64_t> kept;
};

/// The records by seed_of() of the cases' names.
using RecordedCases = std::map<std::uint64_t, RecordedCase>;

inline RecordedCases recorded_conformance(const std::string& file) {
  std::ifstream stream(numerics_path(file), std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + numerics_path(file));
  const auto number = [&](int bytes) {
    std::uint64_t value = 0;
    stream.read(reinterpret_cast<char*>(&value), bytes);
    return value;
  };
  RecordedCases cases;
  while (stream.peek() != std::ifstream::traits_type::eof()) {
    const std::uint64_t name = number(8);
    RecordedCase recorded;
    recorded.bits = static_cast<int>(number(1));
    recorded.all.outputs = number(4);
    recorded.all.fnv1a = number(8);
    recorded.step = static_cast<std::uint32_t>(number(4));
    const std::uint64_t kept = number(2);
    for (std::uint64_t i = 0; i < kept; ++i) recorded.kept.push_back(number(recorded.bits / 8));
    if (!stream) throw std::runtime_error("cut short: " + numerics_path(file));
    if (!cases.emplace(name, std::move(recorded)).second)
      throw std::runtime_error("recorded twice: " + numerics_path(file));
  }
  return cases;
}

/// The first difference between packed outputs and the recorded ones; empty when they are equal.
inline std::string difference_of(const std::vector<std::uint32_t>& words, const RecordedCase& recorded) {
  const auto bits = static_cast<std::size_t>(recorded.bits);
  Checksum all = checksum_of(words);
  all.outputs = words.size() * 32 / bits;
  if (all == recorded.all) return "";
  for (std::size_t i = 0; i < recorded.kept.size(); ++i) {
    const std::size_t at = i * recorded.step * bits / 32, shift = i * recorded.step * bits % 32;
    std::uint64_t got = words.at(at);
    if (bits == 64) got |= std::uint64_t{words.at(at + 1)} << 32;
    if (bits == 16) got = got >> shift & 0xffffu;
    if (got != recorded.kept[i])
      return fmt::format("output {}: {:#x} instead of {:#x}", i * recorded.step, got, recorded.kept[i]);
  }
  return fmt::format("the checksum differs; all of the {} outputs kept are equal", recorded.kept.size());
}

}  // namespace evo::vgpu
