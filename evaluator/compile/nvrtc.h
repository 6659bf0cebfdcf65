#pragma once

#include <nvrtc.h>

#include <filesystem>
#include <string>
#include <vector>

#include "evaluator/base/shared_library.h"

namespace evo {

/// NVRTC's functions, bound at run time. Tests fill it with fakes.
struct NvrtcApi {
  decltype(&nvrtcGetErrorString) error_string = nullptr;
  decltype(&nvrtcVersion) version = nullptr;
  decltype(&nvrtcGetNumSupportedArchs) supported_arch_count = nullptr;
  decltype(&nvrtcGetSupportedArchs) supported_archs = nullptr;
  decltype(&nvrtcCreateProgram) create_program = nullptr;
  decltype(&nvrtcDestroyProgram) destroy_program = nullptr;
  decltype(&nvrtcCompileProgram) compile_program = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;
  decltype(&nvrtcGetPTXSize) ptx_size = nullptr;
  decltype(&nvrtcGetPTX) ptx = nullptr;
  decltype(&nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&nvrtcGetCUBIN) cubin = nullptr;
  decltype(&nvrtcAddNameExpression) add_name_expression = nullptr;
  decltype(&nvrtcGetLoweredName) lowered_name = nullptr;
};

/// A loaded NVRTC and the libraries that keep its functions valid.
struct Nvrtc {
  NvrtcApi api;
  std::string path;
  SharedLibrary builtins;  ///< NVRTC looks for it by name only, so it must outlive the library.
  SharedLibrary library;
};

/// The variables of the environment that decide where to look; tests fill them in.
struct NvrtcEnvironment {
  /// The folder of a toolkit that has the files of this host's CPU. sbsa-linux: of 64-bit ARM.
  static constexpr const char* kToolkitTarget =
#if defined(__aarch64__)
      "targets/sbsa-linux";
#else
      "targets/x86_64-linux";
#endif

  std::string evo_nvrtc;  ///< $EVO_NVRTC: a file or a folder; nothing else is tried when it is set.
  std::vector<std::filesystem::path> toolkit_folders;  ///< $CUDA_HOME, $CUDA_PATH, /usr/local/cuda*.
  std::vector<std::filesystem::path> python_prefixes;  ///< Folders with lib/python3*/site-packages/nvidia.
  std::filesystem::path program_folder;                ///< Where this executable lies.
  bool use_loader = true;                              ///< Try the bare name: ld.so.conf, $LD_LIBRARY_PATH.

  static NvrtcEnvironment of_process();
};

/// The folders that may hold libnvrtc.so.*, in order, existing ones only.
std::vector<std::filesystem::path> nvrtc_folders(const NvrtcEnvironment& environment);

/// Throws machine_error with the places searched and how to install NVRTC.
Nvrtc load_nvrtc(const NvrtcEnvironment& environment);

}  // namespace evo
