#pragma once

#include <string>
#include <vector>

#include "population/code/specialised.h"

/// How an exported file of several kernels chooses among them.
namespace evo {

/// Shape parameters that are not constants of a kernel, grouped where only their product matters to every tensor's size
/// and to the work: {{"B", "H"}, {"S"}}. The distance of two shapes is measured in the groups' logarithms.
std::vector<std::vector<std::string>> size_groups(const Task& task, const Bindings& options);

/// "log(B * H) and log(S)"
std::string size_groups_text(const std::vector<std::vector<std::string>>& groups);

/// The median with warm caches. Throws usage_error when the shape was not timed.
double warm_us(const Provenance& provenance, const Shape& shape);

/// The timed shapes of all kernels, by size, so that the smaller of equally near shapes comes first, whatever order the
/// kernels came in. Throws usage_error when a shape has two kernels.
std::vector<Measured> measured_of(const std::vector<Specialised>& specialisations);

/// The functions that choose a kernel, within the host namespace.
std::string choice_code(const std::vector<Specialised>& specialisations, const std::vector<Measured>& measured);

}  // namespace evo
