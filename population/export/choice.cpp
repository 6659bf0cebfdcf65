#include "population/export/choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "population/code/text.h"

namespace evo::embedded {
extern const std::string_view export_nearest;  // nearest.cuh
}

namespace evo {
namespace {

/// Everything about a size that a kernel's time depends on and the task states: elements of each tensor, work
/// and traffic. Empty when one of them cannot be computed.
std::vector<Value> sizes_of(const Task& task, const Bindings& known) {
  std::vector<Value> sizes;
  try {
    for (const auto* tensors : {&task.inputs, &task.outputs}) {
      for (const Tensor& tensor : *tensors) {
        if (is_present(tensor, known)) sizes.emplace_back(extent_of(tensor, known));
      }
    }
    sizes.push_back(task.flops.evaluate(known));
    sizes.push_back(task.bytes.evaluate(known));
  } catch (const Error&) {
    return {};
  }
  return sizes;
}

/// Whether only the product of two parameters matters, tried with numbers that share no structure.
bool interchangeable(const Task& task, Bindings known, const std::string& a, const std::string& b) {
  constexpr std::int64_t kPairs[][2] = {{6, 35}, {35, 6}, {210, 1}, {1, 210}, {15, 14}};
  std::vector<Value> first;
  for (const auto& [x, y] : kPairs) {
    known[a] = x;
    known[b] = y;
    const std::vector<Value> sizes = sizes_of(task, known);
    if (sizes.empty()) return false;
    if (first.empty()) first = sizes;
    if (sizes != first) return false;
  }
  return true;
}

double log_size(const Shape& shape, const std::vector<std::string>& group) {
  double sum = 0;
  for (const std::string& name : group)
    sum += std::log(static_cast<double>(std::get<std::int64_t>(shape.parameters.at(name))));
  return sum;
}

std::string sizes_text(const Shape& shape, const Task& task) {
  return joined(task.shape_parameters, ", ",
                [&](const std::string& name) { return name + " = " + expr::to_string(shape.parameters.at(name)); });
}

}  // namespace

std::vector<std::vector<std::string>> size_groups(const Task& task, const Bindings& options) {
  Bindings known = options;
  // Any size will do for the parameters that are not looked at; this one is divisible by what tiles are.
  for (const std::string& name : task.shape_parameters) known[name] = std::int64_t{128};
  std::vector<std::vector<std::string>> groups;
  for (const std::string& name : task.shape_parameters) {
    if (task.is_specialised(name)) continue;
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const std::vector<std::string>& others) {
      return std::all_of(others.begin(), others.end(),
                         [&](const std::string& other) { return interchangeable(task, known, name, other); });
    });
    group == groups.end() ? groups.push_back({name}) : group->push_back(name);
  }
  return groups;
}

std::string size_groups_text(const std::vector<std::vector<std::string>>& groups) {
  return joined(groups, " and ",
                [&](const std::vector<std::string>& group) { return fmt::format("log({})", fmt::join(group, " * ")); });
}

double warm_us(const Provenance& provenance, const Shape& shape) {
  for (const Timing& timing : provenance.timings) {
    if (!timing.cold && timing.shape == shape.name) return timing.median_us;
  }
  throw usage_error(
      fmt::format("nothing to export: candidate {} has no latency for shape {}", provenance.candidate, shape.name));
}

std::vector<Measured> measured_of(const std::vector<Specialised>& specialisations) {
  std::vector<Measured> measured;
  for (std::size_t kernel = 0; kernel < specialisations.size(); ++kernel) {
    const Provenance& provenance = specialisations[kernel].request->provenance;
    for (const Shape& shape : provenance.target.timed) {
      if (!is_of(shape, specialisations[kernel].values)) continue;
      for (const Measured& other : measured) {
        if (other.shape->parameters != shape.parameters) continue;
        throw usage_error(fmt::format("shape {} has two kernels, of candidates {} and {}: give each shape to one",
                                      shape.name, specialisations[other.kernel].request->provenance.candidate,
                                      provenance.candidate));
      }
      measured.push_back({kernel, &shape, warm_us(provenance, shape)});
    }
  }
  const Task& task = specialisations.front().request->task;
  const auto volume = [&](const Measured& m) {
    double product = 1;
    for (const std::string& name : task.shape_parameters)
      product *= static_cast<double>(std::get<std::int64_t>(m.shape->parameters.at(name)));
    return product;
  };
  std::stable_sort(measured.begin(), measured.end(),
                   [&](const Measured& a, const Measured& b) { return volume(a) < volume(b); });
  return measured;
}

std::string choice_code(const std::vector<Specialised>& specialisations, const std::vector<Measured>& measured) {
  const ExportRequest& request = *specialisations.front().request;
  const Task& task = request.task;
  const std::vector<std::vector<std::string>> groups = size_groups(task, request.provenance.target.options);
  std::vector<std::string> parameters, logarithms;
  for (const std::string& name : task.shape_parameters)
    parameters.push_back("[[maybe_unused]] long long " + host_name(name));
  for (const std::vector<std::string>& group : groups) {
    logarithms.push_back(joined(group, " + ", [&](const std::string& name) {
      return fmt::format("std::log(static_cast<double>({}))", host_name(name));
    }));
  }
  // Where every parameter is a constant of the kernels there is nothing to measure, but C++ has no empty
  // array.
  if (logarithms.empty()) logarithms.emplace_back("0.0");

  std::string code =
      "\n" + rendered(embedded::export_nearest, {{"groups", static_cast<std::int64_t>(logarithms.size())}});
  code += "\n" + wrapped("inline int choose(", parameters, ") {");
  code += wrapped("  [[maybe_unused]] const double log_size[] = {", logarithms, "};");
  std::vector<std::string> written;
  for (const Specialised& specialised : specialisations) {
    const std::string condition = condition_of(specialised);
    if (std::find(written.begin(), written.end(), condition) != written.end()) continue;
    written.push_back(condition);
    std::string rows;
    int count = 0;
    for (const Measured& m : measured) {
      if (condition_of(specialisations[m.kernel]) != condition) continue;
      std::vector<std::string> sizes;
      for (const std::vector<std::string>& group : groups)
        sizes.push_back(fmt::format("{:#.17g}", log_size(*m.shape, group)));
      if (sizes.empty()) sizes.emplace_back("0.0");
      rows += fmt::format("        {{{}, {{{}}}}},", m.kernel, fmt::join(sizes, ", ")) +
              comment_safe(fmt::format("  // {}", sizes_text(*m.shape, task))) + "\n";
      ++count;
    }
    code += fmt::format(
        "  if ({}) {{\n    static const MeasuredShape shapes[] = {{\n{}    }};\n"
        "    return nearest(shapes, {}, log_size);\n  }}\n",
        condition, rows, count);
  }
  return code + "  return -1;\n}\n";
}

}  // namespace evo
