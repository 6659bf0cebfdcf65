#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace evo {

/// What `text` makes of each item, with the separator between them.
template <class Items, class Text = std::identity>
std::string joined(const Items& items, std::string_view separator, const Text& text = {}) {
  std::string all, between;
  for (const auto& item : items) {
    all += between;
    all += std::invoke(text, item);
    between = separator;
  }
  return all;
}

}  // namespace evo
