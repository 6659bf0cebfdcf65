#pragma once

#include <string>
#include <vector>

#include "evaluator/device/device.h"
#include "evaluator/hosts/helping_host.h"
#include "evaluator/worker/channel.h"

namespace evo::cli {

/// The devices of a host that a run can use.
struct HostDevices {
  OtherHost host;  ///< Without a prefix: this host.
  std::vector<DeviceInfo> devices;
  std::string why_none;  ///< Where there are no devices: the reason.
};

/// The devices of a list (find_devices) on the host behind a prefix, which start_behind describes; "here" or empty:
/// this host, which must have them. The same program must be there: at this program's own path, or as the copy that an
/// earlier run has left in a folder of the user's below /tmp; else it is copied there. Throws machine_error, which
/// names the prefix, also soon after `stop` (may be null) is raised.
HostDevices devices_behind(const std::string& prefix, const std::string& list, const StopSignal* stop = nullptr);

/// The prefixes in a file: one a line, `#` begins a comment. Throws usage_error when it has none.
std::vector<std::string> read_hosts(const std::string& path);

/// `evo worker --hello LIST`, the far side of devices_behind: says which program this is and which devices it finds.
/// Returns the exit code.
inline constexpr const char* kHello = "--hello";
int say_hello(const std::string& list);

}  // namespace evo::cli
