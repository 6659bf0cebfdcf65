#include "engine/short_form/short_form.h"

#include <fmt/format.h>

#include "engine/base/text.h"

namespace evo {

std::string with_author(const std::string& message, const AuthorsPlaces& places) {
  const std::pair<std::string, std::string>* best = nullptr;
  for (const auto& place : places) {
    const std::string& begin = place.first;
    if (!message.starts_with(begin) ||
        (message.size() > begin.size() && is_identifier_character(message[begin.size()])))
      continue;
    if (best == nullptr || begin.size() > best->first.size()) best = &place;
  }
  return best == nullptr ? message : best->second + message.substr(best->first.size());
}

std::string ShortForm::in_authors_places(const std::string& message) const {
  const std::string said_first = fmt::format("task {}: ", task);
  std::string text =
      with_author(message.starts_with(said_first) ? message.substr(said_first.size()) : message, origins);
  // A compiler names the files also inside its messages.
  for (const auto& [made, author] : origins) {
    if (made.find("/source/") == std::string::npos) continue;
    for (std::size_t at = text.find(made); at != std::string::npos; at = text.find(made, at + author.size()))
      text.replace(at, made.size(), author);
  }
  return text;
}

}  // namespace evo
