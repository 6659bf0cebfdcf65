#pragma once

#include <string>
#include <vector>

namespace evo::fuzz {

/// A reader of files: any text must be read, or refused with evo::Error. Anything else ends the program.
struct Target {
  const char* name;
  void (*read)(const std::string& text);
};

/// Those of EVO_FUZZ_TARGET.
std::vector<Target>& targets();
/// Throws usage_error when there is none of that name.
const Target& target_named(const std::string& name);

/// What a program of targets does before anything else: readers start this program again as the guard of a python.
void begin(int argc, char** argv);

/// Reads a text; what is refused is fine.
void read_or_refuse(const Target& target, const std::string& text);

struct Registered {
  Registered(const char* name, void (*read)(const std::string&)) { targets().push_back({name, read}); }
};

}  // namespace evo::fuzz

/// EVO_FUZZ_TARGET(name) { ...text... }: a reader. Its first inputs are those of tests/fuzz/seeds.py.
#define EVO_FUZZ_TARGET(name)                                         \
  static void read_##name(const std::string& text);                   \
  static const evo::fuzz::Registered kept_##name(#name, read_##name); \
  static void read_##name([[maybe_unused]] const std::string& text)
