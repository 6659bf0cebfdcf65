#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/base/dtype.h"
#include "engine/task/task.h"
#include "evaluator/device/device.h"
#include "evaluator/judge/cases.h"

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
  nlohmann::ordered_json json() const;
  /// The outputs as outputs_plan lays them out. Throws RivalRefusal where one has another size.
  std::vector<std::byte> outputs() const;
  void remove_outputs() const;
  void remove() const;  ///< All of them.

 private:
  struct File {
    std::string name;
    DType dtype = DType::f32;
    std::vector<std::int64_t> dims;
    std::vector<std::uint64_t> strides;  ///< Empty: dense.
    std::filesystem::path path;
    std::uint64_t bytes = 0;
  };
  static nlohmann::ordered_json listed(const std::vector<File>& files);

  std::vector<File> inputs_, outputs_;
};

/// The first message to a process: the task, its options, shapes and device.
nlohmann::ordered_json task_message(const Task& task, const Bindings& options, const std::vector<Shape>& shapes,
                                    const DeviceInfo& device);

}  // namespace evo::cli
