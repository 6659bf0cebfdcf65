#pragma once

#include <filesystem>
#include <string>

#include "cli/selftest/selftest.h"
#include "engine/base/source_tree.h"
#include "engine/task/task.h"
#include "population/store/store.h"

namespace evo::cli {

/// The row of a self-test in the database. Templates that are passed on may also hold a file of it,
/// TASK/mutants/passed/KIND.json, so that their receivers need not repeat the test. Neither is part of a task's hash.
SelftestRecord record_of(const SelftestResult& result, const std::string& nvrtc_version);

/// Writes that file. Throws usage_error when the test did not pass or left mutants out.
std::filesystem::path write_pass(const std::filesystem::path& templates, const SelftestRecord& record);

/// Whether such a file says that this task, unchanged, has passed on this device kind.
bool ships_pass(const SourceTree& tree, const Task& task, const std::string& device_kind);

/// A warning, in one line, that no self-test of the task has passed on this device kind; empty when one has.
std::string selftest_warning(const Store& store, const SourceTree& tree, const Task& task, const DeviceInfo& device);

}  // namespace evo::cli
