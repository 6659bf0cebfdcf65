#pragma once

#include <cstddef>
#include <string>

#include "engine/task/task.h"

/// How the program of an exported file draws tensors whose draws are not their regimes'.
namespace evo {

/// Statements that say how tensor number `index` is drawn.
std::string main_draw(const Task& task, const Bindings& options, const Tensor& tensor, std::size_t index);

/// The bytes of the file that it is drawn from, without the header of a .npy (NEP 1).
std::string main_draw_file(const Task& task, const Draw& draw, std::size_t index);

}  // namespace evo
