#pragma once

#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/task/family.h"
#include "engine/task/scope.h"
#include "engine/task/task.h"

namespace evo {

/// Adds file and key to errors of a task's own expressions: "scale/task.json: floor.flops: ...".
template <typename Action>
auto within(const Task& task, std::string_view key, Action action) {
  try {
    return action();
  } catch (const Error& error) {
    throw usage_error(task.name + "/task.json: " + std::string(key) + ": " + error.what());
  }
}

/// "scale/plain/family.json"
inline std::string file_of(const Family& family) {
  return family.task + "/" + family.name + "/family.json";
}

/// The same of a family's, evaluated in `scope`: "scale/plain/family.json: launch scale: ...".
template <typename Action>
auto within(const Family& family, const Bindings& scope, std::string_view part, Action action) {
  try {
    return action();
  } catch (const Error& error) {
    throw usage_error(file_of(family) + ": " + std::string(part) + ": " + explained(error.what(), family, scope));
  }
}

}  // namespace evo
