#include "fake_tools.h"

namespace evo::testing {

DeviceInfo fake_device_info() {
  DeviceInfo info;
  info.id = "fake:0";
  info.kind = "cuda";
  info.name = "Fake";
  info.arch = "sm_90a";
  info.limits = {90, 232448, 233472, 65536, 1024, 132};
  info.clock_ghz = 2;
  info.memory_bytes = std::int64_t{1} << 32;
  info.l2_bytes = 1 << 20;
  info.memory_gbytes_per_s = 1000;
  info.launch_floor_us = 0.5;
  return info;
}

}  // namespace evo::testing
