// evo_fuzz TARGET SEEDS [SECONDS [SEED]]: reads mutated texts until so much CPU time has passed (20 s). The texts
// follow from the seed (1) alone: a slower machine reads fewer of the same. One that ends the program, takes 30 s of
// CPU time or 4 GB is kept as fuzz-TARGET.input; `evo_fuzz TARGET FILE` reads it again.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutation.h"

namespace {

namespace fs = std::filesystem;
using namespace evo::fuzz;

constexpr std::size_t kKept = 500;     ///< Texts that are changed further.
constexpr int kMostSecondsOfOne = 30;  ///< Of CPU time.
constexpr rlim_t kMostBytes = 4ull << 30;

/// What is being read: for the handler of signals.
std::string current, kept_as;

void keep_input(int signal) {
  const int file = ::open(kept_as.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  [[maybe_unused]] auto written = ::write(file, current.data(), current.size());
  const std::string_view what = signal == SIGPROF ? "a text takes too long: " : "a text ends the program: ";
  written = ::write(STDERR_FILENO, what.data(), what.size());
  written = ::write(STDERR_FILENO, kept_as.data(), kept_as.size());
  written = ::write(STDERR_FILENO, "\n", 1);
  ::signal(signal, SIG_DFL);
  if (signal == SIGPROF) ::_exit(1);
  ::raise(signal);
}

void watch_over_reads() {
  static char stack[1 << 16];  // The reader may have run out of its own.
  const stack_t other{stack, 0, sizeof stack};
  ::sigaltstack(&other, nullptr);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF}) {
    struct sigaction action {};
    action.sa_handler = keep_input;
    action.sa_flags = SA_ONSTACK;
    ::sigaction(signal, &action, nullptr);
  }
#if !defined(__SANITIZE_ADDRESS__)  // That maps terabytes.
  const rlimit limit{kMostBytes, kMostBytes};
  ::setrlimit(RLIMIT_AS, &limit);
#endif
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Of this program and of those that it has started.
double cpu_seconds() {
  double seconds = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    ::getrusage(who, &used);
    for (const timeval& time : {used.ru_utime, used.ru_stime})
      seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  }
  return seconds;
}

void read(const Target& target, std::string text) {
  current = std::move(text);
  const itimerval limit{{0, 0}, {kMostSecondsOfOne, 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
  read_or_refuse(target, current);
}

std::vector<std::string> seeds_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<std::string> seeds;
  for (const fs::path& file : files) seeds.push_back(text_of(file));
  if (seeds.empty()) throw evo::usage_error(folder.string() + " holds no first inputs");
  return seeds;
}

int fuzz(const Target& target, const fs::path& folder, double seconds, unsigned seed) {
  const std::vector<std::string> seeds = seeds_in(folder / target.name);
  std::vector<std::string> texts = seeds;
  for (const std::string& text : seeds) read(target, text);
  Random random(seed);
  std::size_t count = 0;
  for (; cpu_seconds() < seconds; ++count) {
    std::string text = mutated(texts[random() % texts.size()], seeds, random);
    read(target, text);
    // Some are changed further: those that were read are not told from those that were refused.
    if (random() % 8 != 0) continue;
    if (texts.size() < kKept)
      texts.push_back(std::move(text));
    else
      texts[seeds.size() + random() % (kKept - seeds.size())] = std::move(text);
  }
  fmt::print("{}: {} texts in {:.1f} s of CPU time, nothing found\n", target.name, count, cpu_seconds());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  begin(argc, argv);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2) {
    for (const Target& target : targets()) fmt::print("{}\n", target.name);
    return 0;
  }
  try {
    const Target& target = target_named(words[0]);
    kept_as = fmt::format("fuzz-{}.input", target.name);
    watch_over_reads();
    if (fs::is_regular_file(words[1])) return read(target, text_of(words[1])), 0;
    return fuzz(target, words[1], words.size() > 2 ? std::stod(words[2]) : 20,
                words.size() > 3 ? static_cast<unsigned>(std::stoul(words[3])) : 1);
  } catch (const std::exception& error) {
    // Whatever a reader throws but an Error.
    std::ofstream(kept_as, std::ios::binary) << current;
    fmt::print(stderr, "{}: {} (the text is {})\n", words[0], error.what(), kept_as);
    return 1;
  }
}
