#include "evaluator/program/device_facts.h"
#include "evaluator/program/runtime/entry.h"

namespace evo::program {

int& last_error() {
  static thread_local int code = 0;
  return code;
}

namespace {

/// What the thread or the process has to answer for.
int pending_error() {
  const std::scoped_lock held(machine().lock());
  return last_error() == 0 && machine().broken ? static_cast<int>(*machine().broken) : last_error();
}

}  // namespace
}  // namespace evo::program

using namespace evo::program;

EVO_ENTRY cudaError_t cudaGetLastError() {
  const int code = pending_error();
  last_error() = 0;
  return static_cast<cudaError_t>(code);
}

EVO_ENTRY cudaError_t cudaPeekAtLastError() {
  return static_cast<cudaError_t>(pending_error());
}

EVO_ENTRY const char* cudaGetErrorName(cudaError_t error) {
  return runtime_name_of(static_cast<int>(error));
}

EVO_ENTRY const char* cudaGetErrorString(cudaError_t error) {
  const char* meaning = meaning_of(static_cast<int>(error));
  return meaning == nullptr ? "unrecognized error code" : meaning;
}

EVO_ENTRY cudaError_t cudaDriverGetVersion(int* version) {
  return answer([&] {
    require(version != nullptr);
    *version = kVersion;
  });
}

EVO_ENTRY cudaError_t cudaRuntimeGetVersion(int* version) {
  return cudaDriverGetVersion(version);
}

EVO_ENTRY cudaError_t cudaProfilerStart() {
  return cudaSuccess;
}

EVO_ENTRY cudaError_t cudaProfilerStop() {
  return cudaSuccess;
}
