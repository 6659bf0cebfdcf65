#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace evo::cli {

/// Six digits, as many as can be drawn.
double rounded(double value);
/// Rounded; null for what is no number.
nlohmann::ordered_json number_json(const std::optional<double>& value);

/// Gives each different text a number, in the order of their first appearance.
class Numbered {
 public:
  std::size_t of(const std::string& text);
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::string> texts_;
};

}  // namespace evo::cli
