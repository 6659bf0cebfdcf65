#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "process.h"

namespace evo::testing {

/// The shipped ones.
inline const std::string kTemplates = EVO_SOURCE_DIR "/templates";

/// A folder of its own for one test, removed at its end.
class Bench {
 public:
  Bench();
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }

  void write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;
  /// Replaces the first `from` in a file, which has one.
  void change(const std::string& name, const std::string& from, const std::string& to) const;
  /// Every file below the folder, by relative path.
  std::vector<std::string> files() const;

  /// Runs `evo` in the folder.
  Outcome evo(const std::vector<std::string>& arguments, ProcessOptions options = {}) const;
  /// Runs it with --json and reads what it prints. Fails the test unless it exits with `code`.
  nlohmann::json json(std::vector<std::string> arguments, int code = 0) const;

 private:
  std::filesystem::path folder_;
};

bool holds(const std::string& text, const std::string& part);

/// The number of the fastest candidate that the bench has found.
std::string best_of(const Bench& bench);

/// What the first run of a database found, candidate by candidate.
nlohmann::json outcomes(const Bench& bench, const std::string& database);

/// Writes templates/toy: c = a + b over N f32, with 26 legal genomes. `with_wrong` adds a gene: of
/// 52 genomes half give wrong answers.
void write_toy_task(const Bench& bench, bool with_wrong = false);
/// A bench that has it.
struct ToyBench : Bench {
  ToyBench() { write_toy_task(*this); }
};

/// The same with a slot, `sum`: where sums are written. Its only allele is slow, so that there is something to win.
void write_toy_with_slot(const Bench& bench);

/// Checks that `evo verify` finds the kernel of an exported toy task wrong when its last addition before `end` in the
/// text has become a subtraction. Returns what it printed.
std::string verify_spoiled(const Bench& bench, std::string exported, std::size_t end = std::string::npos);

/// Checks that `evo` refused: the exit code, nothing on standard output, and one line on standard error that
/// starts with "evo: " and holds every one of `parts`.
void check_refused(const Outcome& outcome, int code, const std::vector<std::string>& parts);

}  // namespace evo::testing
