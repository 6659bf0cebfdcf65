#pragma once

#include <string>
#include <string_view>

namespace evo::cli {

/// Opens standard streams that the caller has closed on /dev/null, so that no file or socket of evo gets their number.
/// Writing to them still fails.
void open_closed_streams();

/// Prints a message. It is dropped when standard error cannot be written: a message that nobody reads is no error.
void write_to_stderr(std::string_view text) noexcept;

/// Prints a line about this run's machines, and puts it into the log.
void tell(const std::string& line);

}  // namespace evo::cli
