#include "evaluator/judge/made_inputs.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/base/error.h"
#include "evaluator/judge/torch_process.h"

namespace evo {
namespace {

using Message = nlohmann::ordered_json;

/// The processes that make inputs, by reference.py: starting one takes seconds, and a run has many cases.
class Makers {
 public:
  void fill(const Task& task, const std::string& source, const Shape& shape, const std::vector<InputRecipe*>& made) {
    const std::lock_guard lock(mutex_);
    const std::string file = task.name + "/reference.py";
    std::unique_ptr<TorchProcess>& process = processes_[source];
    if (!process || process->has_ended()) process = std::make_unique<TorchProcess>(file, source, nullptr, 0);
    Message message = {{"make", Message::array()},
                       {"sizes", Message::object()},
                       {"seed", made.front()->stream >> 1U}};  // torch takes 63 bits.
    for (const auto& [name, value] : shape.parameters)
      std::visit([&](const auto& plain) { message["sizes"][name] = plain; }, value);
    for (const InputRecipe* input : made)
      message["make"].push_back({{"name", input->name},
                                 {"dtype", name_of(input->dtype)},
                                 {"dims", input->dims},
                                 {"file", process->path_of(input->name)}});
    const std::string where = fmt::format("make_inputs at shape {}: ", shape.name);
    process->ask(message.dump(), where);
    for (InputRecipe* input : made)
      input->content = process->get(input->name, bytes_for(input->dtype, input->elements), where);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<TorchProcess>> processes_;
};

}  // namespace

CaseRecipe recipe_of_case(const Task& task, const Bindings& options, const Shape& shape, const Regime& regime,
                          std::uint64_t seed, std::uint64_t salt) {
  CaseRecipe recipe = make_recipe(task, options, shape, regime, seed, salt);
  const std::vector<Tensor> drawn = drawn_tensors(task);
  std::vector<InputRecipe*> made;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    InputRecipe& input = recipe.inputs[i];
    if (input.elements == 0 || drawn[i].draw.path != kMakingFile) continue;
    made.push_back(&input);
    bytes += bytes_for(input.dtype, input.elements);
  }
  if (made.empty()) return recipe;
  if (bytes > kMostMadeBytes)
    throw usage_error(
        fmt::format("shape {}: {} bytes of inputs are made by reference.py, and {} are the most: "
                    "choose a smaller shape with --shapes",
                    shape.name, bytes, kMostMadeBytes));
  static Makers makers;
  makers.fill(task, task.files.at(std::string(kMakingFile)), shape, made);
  return recipe;
}

}  // namespace evo
