#include "cli/text/streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "cli/text/terminal.h"
#include "evaluator/base/log.h"

namespace evo::cli {

void open_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this one: those below are open by now.
    if (::open("/dev/null", O_RDONLY) < 0) return;
  }
}

void write_to_stdout(std::string_view text) {
  fmt::print("{}", shown(text, terminal_of(stdout)));
}

void write_to_terminal(std::string_view codes) noexcept {
  if (std::fwrite(codes.data(), 1, codes.size(), stderr) != codes.size()) std::clearerr(stderr);
}

void write_to_stderr(std::string_view text) noexcept {
  write_to_terminal(shown(text, terminal_of(stderr)));
}

void tell(const std::string& line) {
  write_to_stderr(line + '\n');
  log_line(LogLevel::warning, [&] { return line; });
}

}  // namespace evo::cli
