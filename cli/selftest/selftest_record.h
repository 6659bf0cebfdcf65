#pragma once

#include <filesystem>
#include <string>

#include "cli/selftest/selftest.h"
#include "engine/base/source_tree.h"
#include "engine/task/task.h"
#include "population/store/store.h"

namespace evo::cli {

/// What a self-test leaves behind: a row of the database, and with tasks that are handed on a file beside
/// their mutants, TASK/mutants/passed/KIND.json, so that whoever gets them need not repeat it. Neither is
/// part of a task's hash.
SelftestRecord record_of(const SelftestResult& result, const std::string& nvrtc_version);

/// Writes that file. Throws usage_error when the test did not pass or left mutants out.
std::filesystem::path write_pass(const std::filesystem::path& templates, const SelftestRecord& record);

/// Whether such a file says that this very task passed on a device of this kind.
bool ships_pass(const SourceTree& tree, const Task& task, const std::string& device_kind);

/// What a person should know before the results of a task are believed, in one line: that no self-test of it
/// has passed on devices of this kind. Empty when one has.
std::string selftest_warning(const Store& store, const SourceTree& tree, const Task& task, const DeviceInfo& device);

}  // namespace evo::cli
