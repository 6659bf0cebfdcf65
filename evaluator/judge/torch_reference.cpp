#include "evaluator/judge/torch_reference.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/base/error.h"
#include "engine/task/scope.h"
#include "evaluator/base/log.h"
#include "evaluator/judge/torch_process.h"

namespace evo {
namespace {

using Message = nlohmann::ordered_json;

DType type_of_expected(DType dtype) {
  return is_floating(dtype) && dtype != DType::f64 ? DType::f32 : dtype;
}

}  // namespace

struct TorchReference::Impl {
  const PipelineOptions& options;
  const StopSignal* stop;
  std::optional<TorchProcess> process;

  void open() {
    const std::string& file = options.task.reference;
    process.emplace(file, options.tree.find(file)->second, stop, options.run_deadline_s);
  }

  Message tensor(const std::string& name, DType dtype, const Bindings& known, const std::string& file) const {
    return {{"name", name},
            {"dtype", name_of(dtype)},
            {"dims", dims_of(*options.task.tensor(name), known)},
            {"file", process->path_of(file)}};
  }
};

TorchReference::TorchReference(const PipelineOptions& options, const StopSignal* stop)
    : impl_(new Impl{options, stop, std::nullopt}) {
  impl_->open();
}

TorchReference::~TorchReference() = default;

std::vector<ExpectedOutput> TorchReference::compute(const Case& one) {
  if (impl_->process->has_ended()) {
    log_line(LogLevel::warning,
             [] { return fmt::format("{}, which computes references, was lost while idle", python_name()); });
    impl_->open();
  }
  const Task& task = impl_->options.task;
  const Bindings& choices = impl_->options.target.options;
  const Bindings known = joined(choices, one.shape.parameters);
  Message message = {{"inputs", Message::array()}, {"outputs", Message::array()}, {"options", Message::object()}};
  for (const auto& [name, value] : choices)
    std::visit([&](const auto& plain) { message["options"][name] = plain; }, value);
  const std::vector<std::vector<std::byte>> contents = generate_inputs(one.recipe);
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const InputRecipe& input = one.recipe.inputs[i];
    if (input.elements == 0) continue;
    message["inputs"].push_back(impl_->tensor(input.name, input.dtype, known, input.name));
    if (!input.strides.empty()) message["inputs"].back()["strides"] = input.strides;
    impl_->process->put(input.name, contents[i]);
  }
  for (const Tensor& output : task.outputs) {
    if (!is_present(output, choices)) continue;
    const DType dtype = type_of_expected(dtype_of(output, choices));
    message["outputs"].push_back(impl_->tensor(output.name, dtype, known, output.name + ".out"));
  }
  const std::string where = fmt::format("shape {}, regime {}: ", one.shape.name, one.regime.name);
  impl_->process->ask(message.dump(), where);
  std::vector<ExpectedOutput> expected;
  for (const Message& output : message["outputs"]) {
    const DType dtype = parse_dtype(output["dtype"].get<std::string>());
    std::uint64_t elements = 1;
    for (const Message& dim : output["dims"]) elements *= dim.get<std::uint64_t>();
    const std::string content =
        impl_->process->get(output["name"].get<std::string>() + ".out", bytes_for(dtype, elements), where);
    const auto* bytes = reinterpret_cast<const std::byte*>(content.data());
    expected.push_back({dtype, {bytes, bytes + content.size()}});
  }
  return expected;
}

}  // namespace evo
