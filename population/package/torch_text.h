#pragma once

#include <string_view>

/// The parts of a package for torch that are the same for every task. filled() replaces @NAME@.
namespace evo {

extern const std::string_view kTorchModule;      ///< torch-ext/NAME/__init__.py
extern const std::string_view kTorchFallback;    ///< In it, where the task has a reference in torch.
extern const std::string_view kTorchNoFallback;  ///< In it, where it has none.
extern const std::string_view kTorchSetup;       ///< setup.py
extern const std::string_view kTorchProject;     ///< pyproject.toml
extern const std::string_view kTorchTests;       ///< tests/test_NAME.py
extern const std::string_view kTorchDraws;       ///< Functions that draw tensors (drawn_inputs). @DEVICE@
extern const std::string_view kTorchReadMe;      ///< README.md

}  // namespace evo
