#include "cli/rivals/case_files.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "cli/rivals/rival_process.h"
#include "cli/subject/json.h"
#include "engine/base/error.h"
#include "engine/task/scope.h"
#include "evaluator/judge/outside_answers.h"

namespace evo::cli {
namespace {

using Files = nlohmann::ordered_json;

void write_bytes(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw machine_error(fmt::format("cannot write {}: is the disk full? TMPDIR names another", path.string()));
}

/// Appends what a rival wrote. Throws RivalRefusal when that is of another size.
void append_bytes(const std::filesystem::path& path, std::uint64_t expected, const std::string& name,
                  std::vector<std::byte>& bytes) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::exists(path, error) ? std::filesystem::file_size(path, error) : 0;
  if (error || size != expected)
    throw RivalRefusal(fmt::format("it wrote {} bytes of {} instead of {}", size, name, expected));
  const std::size_t before = bytes.size();
  bytes.resize(before + expected);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(bytes.data() + before), static_cast<std::streamsize>(expected));
  if (!file) throw machine_error(fmt::format("cannot read {}", path.string()));
}

}  // namespace

CaseFolder::CaseFolder() {
  std::error_code error;
  std::string path = (std::filesystem::temp_directory_path(error) / "evo-baseline-XXXXXX").string();
  if (error || ::mkdtemp(path.data()) == nullptr)
    throw machine_error("no folder can be made for the inputs of rivals: name one that can be written with TMPDIR");
  path_ = path;
}

CaseFolder::~CaseFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

CaseFiles::CaseFiles(const CaseFolder& folder, const std::string& prefix, const Task& task, const Bindings& options,
                     const Case& one) {
  const Bindings known = joined(options, one.shape.parameters);
  const std::vector<std::vector<std::byte>> contents = generate_inputs(one.recipe);
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const InputRecipe& input = one.recipe.inputs[i];
    if (input.elements == 0) continue;
    inputs_.push_back({input.name, input.dtype, dims_of(*task.tensor(input.name), known), input.strides,
                       folder / (prefix + input.name + ".bin"), contents[i].size()});
    write_bytes(inputs_.back().path, contents[i]);
  }
  for (const PlanTensor& tensor : outputs_plan(task, options, one.shape).tensors) {
    outputs_.push_back({tensor.name,
                        tensor.dtype,
                        dims_of(*task.tensor(tensor.name), known),
                        {},
                        folder / (prefix + tensor.name + ".out"),
                        tensor.bytes});
  }
}

Files CaseFiles::listed(const std::vector<File>& files) {
  Files list = Files::array();
  for (const File& file : files) {
    list.push_back(
        {{"name", file.name}, {"dtype", name_of(file.dtype)}, {"dims", file.dims}, {"file", file.path.string()}});
    if (!file.strides.empty()) list.back()["strides"] = file.strides;
  }
  return list;
}

Files CaseFiles::json() const {
  return {{"inputs", listed(inputs_)}, {"outputs", listed(outputs_)}};
}

std::vector<std::byte> CaseFiles::outputs() const {
  std::vector<std::byte> outputs;
  for (const File& file : outputs_) append_bytes(file.path, file.bytes, file.name, outputs);
  return outputs;
}

void CaseFiles::remove_outputs() const {
  for (const File& file : outputs_) std::filesystem::remove(file.path);
}

void CaseFiles::remove() const {
  remove_outputs();
  for (const File& file : inputs_) std::filesystem::remove(file.path);
}

nlohmann::ordered_json task_message(const Task& task, const Bindings& options, const std::vector<Shape>& shapes,
                                    const DeviceInfo& device) {
  Files sizes = Files::object();
  for (const Shape& shape : shapes) sizes[shape.name] = bindings_json(shape.parameters);
  return {{"type", "task"},
          {"task", task.name},
          {"summary", task.summary},
          {"options", bindings_json(options)},
          {"shapes", sizes},
          {"device",
           {{"id", device.id},
            {"kind", device.kind},
            {"name", device.name},
            {"arch", device.arch},
            {"uuid", device.uuid}}}};
}

}  // namespace evo::cli
