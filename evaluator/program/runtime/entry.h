#pragma once

#include <driver_types.h>
#include <vector_types.h>

#include <utility>

#include "evaluator/program/entry.h"

namespace evo::program {

/// What cudaGetLastError of this thread will answer.
int& last_error();

/// As coded(), for functions of the runtime: a failure is kept for cudaGetLastError.
template <class Body>
cudaError_t answer(Body body, Survives survives = Survives::no) {
  const int code = coded(std::move(body), survives);
  if (code != 0) last_error() = code;
  return static_cast<cudaError_t>(code);
}

}  // namespace evo::program
