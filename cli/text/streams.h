#pragma once

#include <string_view>

namespace evo::cli {

/// Standard streams that the caller has closed are opened on /dev/null, so that no file or socket of ours takes their
/// number. Writing there still fails.
void open_closed_streams();

/// What a program says of itself beside its results. Whether anybody can read it decides nothing: where standard error
/// cannot be written the text is dropped.
void write_to_stderr(std::string_view text) noexcept;

}  // namespace evo::cli
