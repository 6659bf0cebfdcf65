#include "evaluator/worker/messages.h"

namespace evo::protocol {

std::uint64_t output_bytes(const Plan& plan) {
  std::uint64_t bytes = 0;
  for (const PlanTensor& tensor : plan.tensors) bytes += tensor.output ? tensor.bytes : 0;
  return bytes;
}

std::string complaint_of(const Reply& reply) {
  const auto* broken = std::get_if<Broken>(&reply);
  return broken != nullptr ? broken->message : "the worker gave an answer of the wrong kind";
}

const char* name_of(const Request& request) {
  return kRequestKinds[request.index()];
}

}  // namespace evo::protocol
