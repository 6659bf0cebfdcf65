#pragma once

#include <memory>

#include "evaluator/vgpu/decode/kernel_builder.h"
#include "evaluator/vgpu/decode/operation.h"

namespace evo::vgpu {

/// Decodes one entry function, device functions inlined. `find` is the instruction set. Throws LoadError, which names
/// instruction and source line.
std::unique_ptr<Kernel> decode_kernel(const ptx::Module& module, const ptx::Function& entry, const ModuleLayout& layout,
                                      FindOperation find, const DecodeOptions& options = {});

}  // namespace evo::vgpu
