#pragma once

#include <span>
#include <string>

#include "population/code/request.h"

/// Exported files compile for any list of targets: what runs the kernels is compiled for those that run it.
namespace evo {

/// What tells a target that does not run the kernels from one that does.
struct TargetGuard {
  std::string macro;      ///< "EVO_NO_SM_90A", defined where a target does not run them; empty: nothing is known of it.
  std::string condition;  ///< "!defined(__CUDA_ARCH_FEAT_SM90_ALL)": when it does not, where device code is compiled.
  std::string targets;    ///< "sm_90a", "sm_90 and later": what does, in words.
};

/// Of an exported file with these kernels, which were compiled for "sm_90a" or "sm_100f": that target or family where a
/// source has instructions that others lack, else every target from sm_90 on.
TargetGuard target_guard(std::span<const ExportRequest> requests);

/// Defines the guard's macro.
std::string definition_of(const TargetGuard& guard);

/// The source with its device functions, and the bodies of its kernels, left out where the macro is defined: kernels
/// trap there. Functions that are constexpr or the host's, too, stay. A source whose braces cannot be followed stays as
/// it is.
std::string guarded_source(const std::string& source, const std::string& macro);

}  // namespace evo
