#pragma once

#include "evaluator/worker/messages.h"

/// What the types of a message's fields do not say: sizes that agree, names that are names, indices of what is there.
namespace evo::protocol {

/// Throws ProtocolError for a message that would make its reader read out of bounds, divide by zero or believe a worker
/// that a candidate is valid.
void check(const Request& request);
void check(const Reply& reply);

}  // namespace evo::protocol
