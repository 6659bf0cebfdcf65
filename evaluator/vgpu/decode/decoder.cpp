#include "evaluator/vgpu/decode/decoder.h"

#include "evaluator/vgpu/decode/form.h"

namespace evo::vgpu {

std::unique_ptr<Kernel> decode_kernel(const ptx::Module& module, const ptx::Function& entry, const ModuleLayout& layout,
                                      FindOperation find, const DecodeOptions& options) {
  const auto decode_statement = [find](KernelBuilder& builder, const ptx::Statement& statement) {
    Form form(builder, statement);
    const DecodeFunction decode = find(statement);
    if (decode == nullptr) form.unsupported();
    decode(form);
  };
  return KernelBuilder(module, entry, layout, options, decode_statement).build();
}

}  // namespace evo::vgpu
