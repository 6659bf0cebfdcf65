#pragma once

#include <cstddef>

#include "evaluator/program/code.h"

/// The code that nvcc puts into a program: it registers its fat binaries before main begins.
namespace evo::program {

/// The kernel of a __global__ function, or what a cudaKernel_t or cudaFunction_t points to. Loads its code first.
Function& function_of(const void* symbol);

/// The device's variable that stands for a variable of the host.
LoadedCode::Variable variable_of(const void* symbol);

}  // namespace evo::program
