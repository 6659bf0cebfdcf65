#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

/// The results of an H200: the fixtures of tests/data/numerics, made by tests/gpu/record_numerics.cu and
/// select_numerics.py, which document the formats.
namespace evo::vgpu {

struct RecordedSection {
  std::uint32_t words_in = 0;
  std::uint32_t words_out = 0;
  std::vector<std::uint32_t> words;

  std::size_t records() const { return words.size() / (words_in + words_out); }
  const std::uint32_t* in(std::size_t record) const { return &words[record * (words_in + words_out)]; }
  const std::uint32_t* out(std::size_t record) const { return in(record) + words_in; }
};

inline std::string numerics_path(const std::string& file) {
  return std::string(EVO_TEST_DATA) + "/numerics/" + file;
}

inline std::map<std::string, RecordedSection> recorded_sections(const std::string& file) {
  std::ifstream stream(numerics_path(file), std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + numerics_path(file));
  std::map<std::string, RecordedSection> sections;
  char name[56];
  while (stream.read(name, sizeof name)) {
    RecordedSection section;
    std::uint64_t records = 0;
    stream.read(reinterpret_cast<char*>(&section.words_in), 4);
    stream.read(reinterpret_cast<char*>(&section.words_out), 4);
    stream.read(reinterpret_cast<char*>(&records), 8);
    section.words.resize(records * (section.words_in + section.words_out));
    stream.read(reinterpret_cast<char*>(section.words.data()), static_cast<std::streamsize>(section.words.size() * 4));
    if (!stream) throw std::runtime_error("cut short: " + numerics_path(file));
    sections[name] = std::move(section);
  }
  return sections;
}

struct Checksum {
  std::size_t outputs = 0;
  std::uint64_t fnv1a = 0;
  bool operator==(const Checksum&) const = default;
};

inline std::map<std::string, Checksum> recorded_checksums() {
  std::ifstream stream(numerics_path("checksums.txt"));
  if (!stream) throw std::runtime_error("cannot read " + numerics_path("checksums.txt"));
  std::map<std::string, Checksum> checksums;
  std::string line;
  while (std::getline(stream, line)) {
    std::istringstream fields(line);
    std::string name;
    Checksum checksum;
    fields >> name >> checksum.outputs >> std::hex >> checksum.fnv1a;
    checksums[name] = checksum;
  }
  return checksums;
}

inline Checksum checksum_of(const std::vector<std::uint32_t>& words) {
  Checksum checksum{words.size(), 0xcbf29ce484222325u};
  for (std::uint32_t word : words)
    for (int byte = 0; byte < 4; ++byte)
      checksum.fnv1a = (checksum.fnv1a ^ (word >> (8 * byte) & 0xffu)) * 0x100000001b3u;
  return checksum;
}

using WarpRow = std::array<std::uint32_t, 32>;

/// Applies row_function(d, a) to all inputs, 32 at a time.
template <class RowFunction>
std::vector<std::uint32_t> map_rows(const std::vector<std::uint32_t>& inputs, RowFunction row_function) {
  std::vector<std::uint32_t> outputs(inputs.size());
  for (std::size_t at = 0; at < inputs.size(); at += 32) {
    WarpRow row{};
    const std::size_t count = std::min<std::size_t>(32, inputs.size() - at);
    std::memcpy(row.data(), &inputs[at], count * 4);
    row_function(row.data(), row.data());
    std::memcpy(&outputs[at], row.data(), count * 4);
  }
  return outputs;
}

}  // namespace evo::vgpu
