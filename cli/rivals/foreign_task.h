#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "engine/base/source_tree.h"

/// What readers of others' problems share: from a description to a task.
namespace evo::cli {

/// A problem of others as a task of evo.
struct ForeignProblem {
  std::string task;     ///< Its name.
  std::string kind;     ///< "a Definition of flashinfer-bench", "a problem of robust-kbench"
  SourceTree files;     ///< TASK/task.json and TASK/reference.py
  std::string remarks;  ///< Lines for people: what they should look at.
};

/// The draw of an input that the problem's own generator makes.
inline constexpr const char* kMadeByReference = "@reference.py";
inline constexpr std::uintmax_t kLongestProblem = 1 << 20;  ///< bytes

/// Throws usage_error that names the file.
[[noreturn]] void refuse_problem(const std::string& file, const std::string& why);

/// A name that a task may have.
std::string task_name_of(const std::string& text);

bool holds_floats(const std::string& dtype);
/// The judges' tolerance for every element, and the same of the whole: zeros pass the first where values are small.
nlohmann::ordered_json limits_of_answers(const std::string& dtype);
nlohmann::ordered_json regimes_of_problems();

/// The object that a script of evo's says about the file, on one line, given these words after it. Throws LineFailure
/// where it says none, usage_error with the error that it says.
nlohmann::ordered_json said_by(std::string_view script, const std::string& file, const std::string& words = "");

/// Adds the task's files. `maker`: what makes inputs, for people: "get_inputs()". What it does not make is drawn by
/// evo.
void finish_problem(ForeignProblem& problem, nlohmann::ordered_json task, const std::string& reference,
                    const std::string& file, const std::string& maker);

}  // namespace evo::cli
