#pragma once

#include <exception>
#include <string>

namespace evo::program {

/// What an entry point answers. The numbers are those of CUresult and of cudaError_t, which agree but for the codes
/// below `invalid_device` that only the runtime has.
enum class Code : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  invalid_configuration = 9,  ///< The runtime's; the driver says invalid_value.
  invalid_pitch = 12,
  invalid_symbol = 13,
  invalid_channels = 20,
  invalid_direction = 21,
  invalid_filter = 26,
  invalid_device_function = 98,
  invalid_device = 101,
  invalid_image = 200,
  invalid_context = 201,
  no_binary_for_gpu = 209,
  invalid_ptx = 218,
  file_not_found = 301,
  invalid_handle = 400,
  not_found = 500,
  illegal_address = 700,
  out_of_resources = 701,
  launch_timeout = 702,
  peer_not_enabled = 705,
  assert_failed = 710,
  already_registered = 712,
  not_registered = 713,
  misaligned_address = 716,
  launch_failed = 719,
  cooperative_too_large = 720,
  not_supported = 801,
  capture_unsupported = 900,
  capture_invalidated = 901,
  capture_unmatched = 903,
  capture_unjoined = 904,
  graph_update_failed = 910,
  unknown = 999,
};

/// "cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS" and what it means. Of an unknown code the last two are null.
const char* runtime_name_of(int code);
const char* driver_name_of(int code);
const char* meaning_of(int code);

/// Ends an entry point with its code.
struct Refusal : std::exception {
  explicit Refusal(Code with) : code(with) {}
  const char* what() const noexcept override { return "refused"; }
  Code code;
};

/// Writes "evo: ..." on standard error: what a program did that the virtual GPU refuses or finds.
void say(const std::string& line);

/// Says once that the virtual GPU does not offer a function, and refuses it.
[[noreturn]] void not_offered(const char* function);

inline void require(bool holds, Code otherwise = Code::invalid_value) {
  if (!holds) throw Refusal(otherwise);
}

}  // namespace evo::program
