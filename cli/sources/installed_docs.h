#pragma once

#include <string>
#include <string_view>

namespace evo::cli {

/// The text with the whole path of each page of docs/ that it names, where this evo is installed and has its pages
/// beside it: "(docs/trust.md)" becomes "(/usr/share/evo/docs/trust.md)". In a checkout it stays.
std::string with_places_of_docs(std::string_view text);

}  // namespace evo::cli
