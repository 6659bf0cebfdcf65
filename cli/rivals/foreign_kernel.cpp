#include "cli/rivals/foreign_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "cli/sources/short_form_file.h"
#include "cli/subject/lookup.h"
#include "cli/text/files.h"
#include "cli/text/json_text.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/short_form/author_files.h"
#include "engine/task/candidate.h"
#include "engine/task/family.h"
#include "evaluator/base/random.h"
#include "evaluator/pipeline/pipeline.h"

namespace evo::cli {
namespace {

constexpr std::uintmax_t kLongestKernelFile = 1 << 20;  // bytes

// ---- Launches

[[noreturn]] void refuse_launch(const std::string& launch, const std::string& why) {
  throw usage_error(fmt::format(
      "--launch '{}': {}; it is written as KERNEL<<<GRID, BLOCK, SHARED_BYTES>>>(ARGUMENTS), the third may be left out",
      launch, why));
}

std::vector<std::string> items_of(std::string_view text) {
  std::vector<std::string> items;
  if (trim(text).empty()) return items;
  for (const std::string_view item : split_outside_brackets(text, ",")) items.emplace_back(item);
  return items;
}

/// "N", "dim3(N, 2)" and "(N, 2)" as three expressions.
nlohmann::ordered_json three_dims(const std::string& text, const std::string& launch) {
  std::vector<std::string> dims = {text};
  const bool named = text.starts_with("dim3");
  const std::string_view list = trim(std::string_view(text).substr(named ? 4 : 0));
  // (N + 1) / 2 ends with no bracket of its own; (N + 1) has one item either way.
  if (list.size() > 1 && list.starts_with('(') && list.ends_with(')')) {
    std::vector<std::string> items = items_of(list.substr(1, list.size() - 2));
    if (named || items.size() > 1) dims = std::move(items);
  }
  if (dims.empty() || dims.size() > 3) refuse_launch(launch, fmt::format("'{}' is not one to three sizes", text));
  dims.resize(3, "1");
  return dims;
}

nlohmann::ordered_json launch_json(const std::string& launch) {
  const std::size_t open = launch.find("<<<");
  const std::size_t close = open == std::string::npos ? open : launch.find(">>>", open);
  if (close == std::string::npos) refuse_launch(launch, "there is no <<< >>>");
  const std::string kernel = std::string(trim(std::string_view(launch).substr(0, open)));
  const std::string arguments = std::string(trim(std::string_view(launch).substr(close + 3)));
  if (kernel.empty()) refuse_launch(launch, "there is no kernel's name");
  if (!arguments.starts_with('(') || !arguments.ends_with(')')) refuse_launch(launch, "there are no (ARGUMENTS)");
  const std::vector<std::string> sizes = items_of(launch.substr(open + 3, close - open - 3));
  if (sizes.size() < 2 || sizes.size() > 3) refuse_launch(launch, "there are not two or three things in <<< >>>");
  return {{"kernel", kernel},
          {"grid", three_dims(sizes[0], launch)},
          {"block", three_dims(sizes[1], launch)},
          {"dynamic_smem", sizes.size() == 3 ? sizes[2] : "0"},
          {"arguments", items_of(arguments.substr(1, arguments.size() - 2))}};
}

constexpr const char* kForeignFamily = "solution";

/// A message about the family's files as one about the user's.
std::string in_users_words(std::string message, const ForeignKernel& kernel, const std::string& folder,
                           const std::vector<std::pair<std::string, std::string>>& origins) {
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = message.find(from, at)) != std::string::npos; at += to.size())
      message.replace(at, from.size(), to);
  };
  for (const auto& [made, author] : origins) replace(made, author);
  for (std::size_t i = 0; i < kernel.launches.size(); ++i)
    replace(fmt::format("{}family.json: launches[{}].", folder, i), fmt::format("--launch '{}': ", kernel.launches[i]));
  return message;
}

Candidate foreign_candidate(const SourceTree& files, const Task& task, const Target& target, const DeviceInfo& device) {
  return make_candidate(files, task, load_families(files, task).front(), Genome{.family = kForeignFamily, .genes = {}},
                        target, facts_of(device.limits));
}

}  // namespace

Evaluation evaluate_foreign_kernel(const ForeignKernel& kernel, const SourceTree& tree, const Task& task,
                                   const Target& target, const DeviceInfo& device) {
  const std::filesystem::path place(kernel.file);
  const ReadFile read = [&](const std::string& path) {
    return read_text_file(place.parent_path() / path, kLongestKernelFile);
  };
  AuthorFiles sources(read, is_known_header);
  const std::string name = place.filename().string();
  sources.take(name);
  nlohmann::ordered_json family = {{"summary", kernel.file}, {"genes", nlohmann::ordered_json::array()}};
  family["launches"] = list_json(kernel.launches, launch_json);

  // The task's own families are not needed, and one of them may have the name.
  SourceTree files;
  for (const auto& [path, text] : tree)
    if (!path.starts_with(task.name + "/") || std::count(path.begin(), path.end(), '/') == 1) files[path] = text;
  const std::string folder = fmt::format("{}/{}/", task.name, kForeignFamily);
  files[folder + "family.json"] = family.dump();
  std::vector<std::pair<std::string, std::string>> origins;
  for (const auto& [author, inside, text] : sources.placed()) {
    files[folder + "source/" + inside] = text;
    origins.emplace_back(folder + "source/" + inside, (place.parent_path() / author).string());
  }
  files[folder + "kernel.cu"] = fmt::format("//% include \"{}source/{}\"\n", folder, sources.inside(name));

  PipelineOptions options;
  options.task = task;
  options.tree = files;
  options.target = target;
  options.device = device;
  options.salt = fresh_salt();
  options.compile_workers = 1;
  options.dedup = false;
  try {
    const Candidate candidate = foreign_candidate(files, task, target, device);
    const std::unique_ptr<Evaluator> pipeline = make_pipeline(std::move(options));
    pipeline->submit(0, candidate);
    Evaluation found = pipeline->wait().evaluation;
    found.reason = in_users_words(found.reason, kernel, folder, origins);
    return found;
  } catch (const Error& error) {
    throw Error(error.fault(), in_users_words(error.what(), kernel, folder, origins));
  }
}

}  // namespace evo::cli
