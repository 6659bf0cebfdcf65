#include "cli/model/modeller.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "cli/text/files.h"
#include "cli/text/json_text.h"
#include "engine/base/error.h"
#include "engine/record/record_json.h"
#include "evaluator/device/guards.h"
#include "evaluator/device/inputs.h"
#include "evaluator/hosts/compile_worker.h"
#include "evaluator/judge/made_inputs.h"

namespace evo::cli {
namespace {

constexpr std::uintmax_t kLargestKeptBytes = 64 << 20;

/// The part of a binary that the model needs: a line of JSON, then the PTX.
std::string kept_text(const Binary& binary) {
  Binary kept = binary;
  kept.build.log.clear();
  return to_json<Json>(kept).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n" + binary.ptx;
}

/// Empty when the file is not one of kept_text; it is then written again.
std::optional<Binary> read_kept(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  const std::string text = read_file(path, kLargestKeptBytes);
  const std::size_t end = text.find('\n');
  if (end == std::string::npos) return std::nullopt;
  try {
    auto binary = from_json<Binary>(Json::parse(text.substr(0, end), nullptr, false), "binary");
    binary.ptx = text.substr(end + 1);
    return binary;
  } catch (const RecordError&) {
    return std::nullopt;
  }
}

bool has_all(const std::map<std::string, std::string>& known, const std::vector<std::string>& wanted) {
  return std::ranges::all_of(wanted, [&](const std::string& name) { return known.contains(name); });
}

}  // namespace

std::optional<std::string> find_virtual_gpu_like(const std::string& gpu) {
  for (const std::string& name : vgpu::model_names()) {
    // Whole words: "NVIDIA A10" is no A100.
    const DeviceInfo model = vgpu::model_info(name);
    if (model.name == gpu || model.name.starts_with(gpu + " ")) return model.id;
  }
  return std::nullopt;
}

std::string virtual_gpu_like(const std::string& gpu) {
  if (const auto like = find_virtual_gpu_like(gpu)) return *like;
  throw usage_error(fmt::format("there is no virtual GPU like {}: name one with --device", gpu));
}

CaseRecipe modelled_case(const Task& task, const Target& target, const Shape& shape) {
  return recipe_of_case(task, target.options, shape, task.regimes.front(), 1, 0);
}

Modeller::Modeller(Task task, Target target, DeviceInfo device, std::filesystem::path kept)
    : task_(std::move(task)), target_(std::move(target)), info_(std::move(device)), kept_(std::move(kept)) {
  gpu_ = vgpu::make_device(info_);
  compiler_ = std::make_unique<CompileWorker>(info_);
  if (kept_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(kept_, error);
  if (error) throw machine_error(fmt::format("cannot make the folder {}: {}", kept_.string(), error.message()));
}

std::variant<Binary, Failure> Modeller::compiled(const Program& program) {
  const std::filesystem::path path =
      kept_ / fmt::format("{}_{}_nvrtc{}.ptx", program.source_hash, info_.arch, compiler_->version());
  if (!kept_.empty()) {
    std::optional<Binary> binary = read_kept(path);
    if (binary && has_all(binary->build.kernel_names, kernels_of(program)) &&
        has_all(binary->build.variables, variables_of(program)))
      return *std::move(binary);
  }
  auto result = compiler_->compile(program, info_.arch);
  if (const auto* binary = std::get_if<Binary>(&result); binary != nullptr && !kept_.empty())
    write_file(path, kept_text(*binary));
  return result;
}

const PristineInputs& Modeller::inputs_of(const Shape& shape) {
  const auto known = inputs_.find(shape.name);
  if (known != inputs_.end()) return known->second;
  return inputs_.try_emplace(shape.name, *gpu_, modelled_case(task_, target_, shape), guard_bytes_for(gpu_->info()))
      .first->second;
}

std::variant<Modelled, Failure> Modeller::model(const Candidate& candidate, const Shape& shape, bool cold) {
  const auto number = program_for(candidate, shape.name);
  if (!number) throw usage_error(fmt::format("the candidate has no plan for the shape {}", shape.name));
  const Program& program = candidate.programs[*number];
  auto built = compiled(program);
  if (auto* failure = std::get_if<Failure>(&built)) return std::move(*failure);
  const auto& binary = std::get<Binary>(built);

  std::optional<Failure> failure;
  const std::unique_ptr<Module> module = gpu_->load(binary, failure);
  if (failure) return translated(*std::move(failure), program);
  const Plan& plan = program.plans.at(shape.name);
  BufferSet buffers(*gpu_, plan.tensors);
  failure = buffers.attach_workspaces(plan.workspaces);
  if (failure) return *std::move(failure);
  buffers.prepare(inputs_of(shape), 0, 0);
  Modelled modelled{&program, binary.build, gpu_->model(*module, plan, buffers.addresses(), cold, failure)};
  if (failure) return translated(*std::move(failure), program);
  return modelled;
}

}  // namespace evo::cli
