#include "engine/task/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/expression/json_place.h"
#include "engine/source/single_precision.h"
#include "engine/source/template.h"

namespace evo {
namespace {

Limits read_calibrated(const JsonPlace& place) {
  place.allow_only({"relative_l2", "cosine", "row_l2", "floor_relative_l2", "floor_row_l2", "floor_cosine"});
  Limits limits;
  limits.relative_l2 = place.at("relative_l2").number();
  limits.cosine = place.at("cosine").number();
  if (const auto row = place.find("row_l2")) limits.row_l2 = row->number();
  if (limits.relative_l2 <= 0) place.at("relative_l2").fail("must be positive");
  if (limits.cosine < 0 || limits.cosine > 1) place.at("cosine").fail("must be 0 to 1");
  return limits;
}

/// Bits of a significand up to which tanh.approx, with about 11 right ones, is as good as any.
constexpr int kCoarse = 8;

SinglePrecision single_precision_of(const Task& task, bool plain) {
  SinglePrecision how{.operands = DType::f32, .coarse_tanh = true, .plain = plain};
  const Bindings options = task.default_options();
  for (const Tensor& input : drawn_tensors(task)) {
    const DType dtype = dtype_of(input, options);
    if (dtype == DType::bf16 || dtype == DType::f16) how.operands = dtype;
  }
  for (const Tensor& output : task.outputs) {
    const int digits = info_of(dtype_of(output, options)).digits;
    if (digits == 0 || digits > kCoarse) how.coarse_tanh = false;
  }
  return how;
}

EmulationLimit read_average(const JsonPlace& place) {
  place.allow_only({"times", "plus"});
  const EmulationLimit limit{place.at("times").number(), place.at("plus").number()};
  if (limit.times < 1) place.at("times").fail("must be at least 1: the emulation itself must pass");
  if (limit.plus <= 0) place.at("plus").fail("must be positive: the emulation may err by nothing");
  return limit;
}

void read_arithmetic(const SourceTree& tree, const Task& task, const JsonPlace& place, Calibration& calibration) {
  const std::string arithmetic = place.text();
  require_known(place, "arithmetic", arithmetic, {kSinglePrecision, kPlainSinglePrecision});
  const SinglePrecision how = single_precision_of(task, arithmetic == kPlainSinglePrecision);
  calibration.single_precision = true;
  bool had_doubles = false;
  std::set<std::string> files = files_included_by(tree, task.reference);
  files.erase(task.reference);
  for (const std::string& file : files) {
    const std::string& source = tree.at(file);
    InSinglePrecision rewritten = in_single_precision(source, task.reference_kernel);
    had_doubles = had_doubles || rewritten.had_doubles;
    if (rewritten.source != source) calibration.emulation.push_back({file, source, std::move(rewritten.source)});
  }
  const std::string& source = tree.at(task.reference);
  const InSinglePrecision rewritten = in_single_precision(source, task.reference_kernel);
  const std::string header = single_precision_header(how, !had_doubles && !rewritten.had_doubles);
  calibration.emulation.push_back({task.reference, source, header + rewritten.source});
}

void read_emulation(const SourceTree& tree, const Task& task, const JsonPlace& place, Calibration& calibration) {
  place.allow_only({"about", "edits", "arithmetic"});
  calibration.about = place.at("about").text();
  if (const auto arithmetic = place.find("arithmetic")) {
    if (const auto edits = place.find("edits")) edits->fail("there is 'arithmetic' already");
    return read_arithmetic(tree, task, *arithmetic, calibration);
  }
  for (const JsonPlace& edit : place.at("edits").items()) {
    edit.allow_only({"find", "replace"});
    calibration.emulation.push_back({task.reference, edit.at("find").text(), edit.at("replace").text()});
  }
  try {
    edited(tree, calibration.emulation);
  } catch (const Error& error) {
    place.at("edits").fail(error.what());
  }
}

}  // namespace

std::optional<Calibration> load_calibration(const SourceTree& tree, const Task& task) {
  const std::string file = task.name + "/limits.json";
  if (!tree.contains(file)) return std::nullopt;
  const JsonPlace root = JsonPlace::read(tree, file);
  root.allow_only({"emulation", "average", "factor", "measured", "regimes"});
  Calibration calibration;
  read_emulation(tree, task, root.at("emulation"), calibration);
  if (const auto average = root.find("average")) {
    for (const auto& [output, limit] : average->members()) {
      require_known(limit, "output", output, names_of(task.outputs));
      calibration.average[output] = read_average(limit);
    }
  }
  if (const auto factor = root.find("factor")) calibration.factor = factor->number();
  if (calibration.factor < 1) root.at("factor").fail("must be at least 1");
  const auto regimes = root.find("regimes");
  if (!regimes) return calibration;
  const JsonPlace measured = root.at("measured");
  if (measured.at("emulation_hash").text() != emulation_hash(tree, task, calibration)) {
    measured.at("emulation_hash")
        .fail(fmt::format(
            "measured with another reference or emulation: evo selftest --task {} --calibrate measures again",
            task.name));
  }
  for (const Regime& regime : task.regimes) {
    calibration.limits.emplace(regime.name, read_calibrated(regimes->at(regime.name)));
    calibration.limits.find(regime.name)->second.max_abs = task.limits.max_abs;
  }
  if (regimes->members().size() != task.regimes.size()) regimes->fail("there are regimes that the task does not have");
  return calibration;
}

std::string emulation_hash(const SourceTree& tree, const Task& task, const Calibration& calibration) {
  const SourceTree emulation = edited(tree, calibration.emulation);
  std::string text = emulation.at(task.reference) + tree.find(task.reference)->second;
  for (const std::string& file : files_included_by(emulation, task.reference)) text += emulation.at(file);
  return hash_hex(text);
}

Limits limits_for(const std::optional<Calibration>& calibration, const Task& task, std::string_view regime) {
  if (!calibration) return task.limits;
  const auto found = calibration->limits.find(regime);
  return found == calibration->limits.end() ? task.limits : found->second;
}

Limits limits_for(const std::optional<Calibration>& calibration, const Task& task, const Limits& objective,
                  std::string_view regime) {
  if (!calibration || calibration->limits.empty()) return objective;
  Limits limits = limits_for(calibration, task, regime);
  if (objective.relative_l2 < task.limits.relative_l2)
    limits.relative_l2 = std::min(limits.relative_l2, objective.relative_l2);
  if (objective.cosine > task.limits.cosine) limits.cosine = std::max(limits.cosine, objective.cosine);
  limits.max_abs = objective.max_abs;
  limits.emulated_l2 = objective.emulated_l2;
  limits.emulated_row = objective.emulated_row;
  return limits;
}

Limits limits_from_floor(double relative_l2, double cosine, double factor) {
  // 1 - cos of a small angle is half its square, and errors are angles here. An emulation that errs along its results
  // has no angle, but an honest kernel may err as much across them.
  Limits limits;
  limits.relative_l2 = relative_l2 * factor;
  const double of_angle = 1 - (1 - cosine) * factor * factor;
  const double of_error = 1 - limits.relative_l2 * limits.relative_l2 / 2;
  limits.cosine = std::max(0.0, std::min(of_angle, of_error));
  return limits;
}

double smallest_cosine(double relative_l2) {
  const double sine = std::min(1.0, relative_l2);  // of the largest angle that such an error makes
  return std::sqrt(1 - sine * sine);
}

Limits following(const Limits& limits, const EmulationError& error) {
  Limits here = limits;
  if (limits.emulated_l2.times > 0) {
    here.relative_l2 = limits.emulated_l2.of(error.relative_l2);
    here.cosine = std::min(limits.cosine, smallest_cosine(here.relative_l2));
  }
  if (limits.emulated_row.times > 0) here.row_l2 = limits.emulated_row.of(error.row_l2);
  return here;
}

Limits widened(const Limits& limits, double times) {
  Limits wider = limits;
  wider.cosine = limits_from_floor(limits.relative_l2, limits.cosine, times).cosine;
  if (limits.emulated_l2.times == 0) wider.relative_l2 *= times;
  if (limits.emulated_row.times == 0) wider.row_l2 *= times;
  wider.element_times *= times;
  wider.change *= times;
  return wider;
}

Limits admitting(const Limits& limits, const EmulationError& error, double factor) {
  const Limits floor = limits_from_floor(error.relative_l2, 1, factor);
  Limits wider = limits;
  if (limits.relative_l2 > 0) wider.relative_l2 = std::max(limits.relative_l2, floor.relative_l2);
  if (limits.row_l2 > 0) wider.row_l2 = std::max(limits.row_l2, error.row_l2 * factor);
  wider.cosine = std::min(limits.cosine, floor.cosine);
  return wider;
}

}  // namespace evo
