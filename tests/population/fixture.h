#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <functional>
#include <string>

#include "engine/base/error.h"
#include "engine/search/search.h"
#include "population/store/store.h"

namespace evo::test {

/// A folder that goes away with the object.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::vector<std::string> files() const;  ///< Names, sorted.

 private:
  std::filesystem::path path_;
};

void write_text(const std::filesystem::path& path, const std::string& text);
std::string read_text(const std::filesystem::path& path);

RunInfo run_info(const std::string& task_hash = "hash-1", const std::string& device_name = "Test GPU");

/// Proposal number `ticket`; its genome is unique to the ticket.
Proposal proposal(std::uint64_t ticket, std::vector<std::uint64_t> parents = {});

/// One program with this source.
Candidate candidate(const Proposal& proposal, const std::string& source);

/// A valid evaluation with one build and one timing; the cubin is unique to `cubin`.
Evaluation valid(double latency_us, const std::string& cubin);
Evaluation failed(Verdict verdict, const std::string& reason);

/// Runs `body` in a child process and returns what it wrote to its standard output and error, and its exit
/// code. As root the child first becomes nobody, so that permissions mean something.
struct ChildResult {
  int exit_code = 0;
  std::string output;
};
ChildResult in_unprivileged_child(const std::function<void()>& body);

/// The message of the evo::Error that `action` throws; empty when it throws none.
std::string error_of(const std::function<void()>& action);

bool is_one_line(const std::string& message);

}  // namespace evo::test
