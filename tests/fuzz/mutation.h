#pragma once

#include <random>
#include <string>
#include <vector>

namespace evo::fuzz {

using Random = std::minstd_rand;

/// The text with one to four changes: of bytes and numbers, or of what texts are made of, with pieces of the donors,
/// which are at least one: lines, words that are alike, and whole brackets and strings.
std::string mutated(std::string text, const std::vector<std::string>& donors, Random& random);

}  // namespace evo::fuzz
