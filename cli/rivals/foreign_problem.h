#pragma once

#include <string>

#include "cli/rivals/foreign_task.h"

namespace evo::cli {

/// Whether `evo import` takes the file for a problem: a .py file, or JSON with axes and inputs.
bool is_foreign_problem(const std::string& file);

/// A problem of KernelBench or robust-kbench.
struct PythonProblem {
  std::string file;
  std::string name;    ///< The task's; empty: from the file.
  std::string source;  ///< The file's text.
};

/// The task of what describe_problem.py says of a problem, JSON. Throws usage_error for what evo cannot say.
ForeignProblem problem_described(const std::string& description, const PythonProblem& from);

/// Reads a Definition of flashinfer-bench (JSON), or a problem of KernelBench or robust-kbench (Python, whose inputs
/// torch describes). `name`: the task's; empty: from the problem. Throws usage_error for what is neither, and for what
/// evo cannot say; machine_error where torch is needed and missing.
ForeignProblem read_foreign_problem(const std::string& file, const std::string& name);

}  // namespace evo::cli
