#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace evo::cli {

/// A text that is not to be taken for anything else. Its end is known by its own hash, which it cannot hold.
std::string as_data(std::string_view name, std::string_view text);

/// The sources that a prompt shows, in at most `room` bytes, the most useful first: the contract; what the templates of
/// the best kernel became, the entry kernel first, then included files by their share of time; the template files that
/// it came from in the same order; then those of the other elites, the reference, and the rest of the task's. What does
/// not fit is named, or loses its end.
std::string sources_section(const nlohmann::ordered_json& task, const nlohmann::ordered_json& question,
                            std::size_t room);

}  // namespace evo::cli
