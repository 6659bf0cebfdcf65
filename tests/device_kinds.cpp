// The kinds of devices, for suites that do not link the evaluator.

#include "engine/device/device_kind.h"

namespace {

[[maybe_unused]] const bool registered = [] {
  evo::register_device_kind({.name = "cuda", .title = "a GPU"});
  evo::register_device_kind({.name = "vgpu", .title = "the virtual GPU", .modelled = true});
  return true;
}();

}  // namespace
