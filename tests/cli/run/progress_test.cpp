// What a search says of itself where standard error is no terminal.
#include "cli/run/progress.h"

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <thread>

using namespace evo;
using namespace evo::cli;

namespace {

/// Standard error is a pipe while it lives.
class CapturedErrors {
 public:
  CapturedErrors() : kept_(dup(STDERR_FILENO)) {
    REQUIRE(pipe(ends_) == 0);
    dup2(ends_[1], STDERR_FILENO);
  }
  ~CapturedErrors() {
    dup2(kept_, STDERR_FILENO);
    for (const int end : {ends_[0], ends_[1], kept_}) close(end);
  }
  CapturedErrors(const CapturedErrors&) = delete;
  CapturedErrors& operator=(const CapturedErrors&) = delete;

  /// The next line; waits for it.
  std::string line() const {
    std::string text;
    for (char c = 0; read(ends_[0], &c, 1) == 1 && c != '\n';) text += c;
    return text;
  }

 private:
  int kept_;
  int ends_[2] = {};
};

/// The first line that holds the text, of some.
bool comes(const CapturedErrors& errors, const std::string& text) {
  for (int i = 0; i < 1000; ++i)
    if (errors.line().find(text) != std::string::npos) return true;
  return false;
}

ProgressReport::Settings settings() {
  ProgressReport::Settings settings;
  settings.evaluations = 40;
  settings.pause = std::chrono::milliseconds(20);
  return settings;
}

}  // namespace

TEST_CASE("without a terminal a search says now and then where it stands, also while no answer comes") {
  const CapturedErrors errors;
  ProgressReport progress(settings());
  CHECK(comes(errors, "no candidate is evaluated yet"));
  progress.update({.answered = 3, .valid = 2, .best_us = 7.5});
  CHECK(comes(errors, "3/40 evaluated"));
  progress.wait("candidate 3: a short attack");
  CHECK(comes(errors, "candidate 3: a short attack"));
}

TEST_CASE("once a wait is over a search says again where it stands, and nothing once it has ended") {
  const CapturedErrors errors;
  ProgressReport progress(settings());
  progress.update({.answered = 3, .valid = 2, .best_us = 7.5});
  progress.wait("candidate 3: a short attack");
  CHECK(comes(errors, "candidate 3: a short attack"));
  progress.wait({});
  CHECK(comes(errors, "3/40 evaluated"));
  progress.finish();
  CHECK(write(STDERR_FILENO, "the end\n", 8) == 8);
  CHECK(comes(errors, "the end"));
  ProgressReport another(settings());
  for (int i = 0; i < 3; ++i) CHECK(errors.line().find("no candidate is evaluated yet") != std::string::npos);
}

TEST_CASE("a quiet search says nothing of where it stands") {
  const CapturedErrors errors;
  {
    ProgressReport::Settings quiet = settings();
    quiet.quiet = true;
    ProgressReport progress(quiet);
    progress.update({.answered = 3, .valid = 2, .best_us = 7.5});
    progress.wait("candidate 3: a short attack");
  }
  CHECK(write(STDERR_FILENO, "the end\n", 8) == 8);
  CHECK(errors.line() == "the end");
}
