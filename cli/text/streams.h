#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

namespace evo::cli {

/// Opens standard streams that the caller has closed on /dev/null, so that no file or socket of evo gets their number.
/// Writing to them still fails.
void open_closed_streams();

/// Prints to standard output, as `shown` (terminal.h) shows it. Throws std::system_error where that cannot be written.
void write_to_stdout(std::string_view text);

template <class... Values>
void print(fmt::format_string<Values...> format, Values&&... values) {
  write_to_stdout(fmt::format(format, std::forward<Values>(values)...));
}

/// Moves the cursor of an interactive standard error: as it is, and with no text of others.
void write_to_terminal(std::string_view codes) noexcept;

/// Prints a message, as `shown` shows it. It is dropped when standard error cannot be written: a message that nobody
/// reads is no error.
void write_to_stderr(std::string_view text) noexcept;

/// Prints a line about this run's machines, and puts it into the log.
void tell(const std::string& line);

}  // namespace evo::cli
