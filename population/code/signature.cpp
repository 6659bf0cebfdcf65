#include "population/code/signature.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace evo {

Signature signature_of(const ExportRequest& request) {
  const Task& task = request.task;
  Signature signature;
  for (const TensorPlace& place : present_tensors(request)) {
    signature.tensors.push_back(pointer_type(place, request) + " " + host_name(place.tensor->name));
    signature.arguments.push_back(host_name(place.tensor->name));
  }
  std::vector<std::string> conditions;
  std::vector<std::string> parameters;
  for (const std::string& name : task.shape_parameters) {
    parameters.push_back(host_name(name));
    signature.sizes.push_back("int " + parameters.back());
    conditions.push_back(parameters.back() + " < 1");
  }
  signature.shape = fmt::format("{}", fmt::join(parameters, ", "));
  signature.not_positive = fmt::format("{}", fmt::join(conditions, " || "));
  return signature;
}

std::string tail_of(const Specialised& specialised) {
  return specialised.suffix.empty() ? "" : "_" + specialised.suffix;
}

}  // namespace evo
