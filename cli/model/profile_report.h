#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/text/terminal.h"
#include "engine/result/profile.h"

namespace evo::cli {

/// The counters of a candidate at one shape: those of a GPU, those of a cost model, or both; null: there are none.
struct ShapeProfile {
  std::string shape;
  const Profile* measured = nullptr;
  const Profile* modelled = nullptr;
};

/// In the order in which the shapes come first. Must not outlive `profiles`.
std::vector<ShapeProfile> by_shape(const std::vector<Profile>& profiles);

/// For people: a table for each launch with measured and modelled figures side by side, then what bounds it, in words.
std::string profile_text(const ShapeProfile& profile, const Terminal& terminal);

/// The bottleneck of the longest launch at each shape, a line each: "mission, measured: bound by ...".
std::string bounds_text(const std::vector<Profile>& profiles);

/// An array with an object for each shape, as docs/json.md describes it.
nlohmann::ordered_json profiles_json(const std::vector<Profile>& profiles);

}  // namespace evo::cli
