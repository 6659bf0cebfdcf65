#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/task/task.h"
#include "evaluator/pipeline/cases.h"

namespace evo::cli {

/// A folder for files that a process of others reads and writes, removed with the object. Throws machine_error.
class CaseFolder {
 public:
  CaseFolder();
  ~CaseFolder();
  CaseFolder(const CaseFolder&) = delete;
  CaseFolder& operator=(const CaseFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// The files of one case, as docs/baseline.md describes them.
class CaseFiles {
 public:
  /// Writes the inputs. `prefix` begins the files' names. Throws machine_error when they cannot be written.
  CaseFiles(const CaseFolder& folder, const std::string& prefix, const Task& task, const Bindings& options,
            const Case& one);

  /// {"inputs": [...], "outputs": [...]}
  const nlohmann::ordered_json& json() const { return json_; }
  /// The outputs as outputs_plan lays them out. Throws RivalRefusal where one has another size.
  std::vector<std::byte> outputs() const;
  void remove_outputs() const;
  void remove() const;  ///< All of them.

 private:
  nlohmann::ordered_json json_;
  std::vector<std::uint64_t> output_bytes_;
};

/// The first message to a process: the task, its options, shapes and device.
nlohmann::ordered_json task_message(const Task& task, const Bindings& options, const std::vector<Shape>& shapes,
                                    const DeviceInfo& device);

}  // namespace evo::cli
