#pragma once

#include <cstddef>
#include <mutex>
#include <optional>

#include "evaluator/base/recently_used.h"
#include "evaluator/device/device.h"
#include "evaluator/worker/protocol.h"

namespace evo {

/// Compiled programs that may be needed again soon: the cost model compiles a program before it is evaluated, and
/// elites are timed again. The key is the whole request. Safe for several threads.
class BinaryCache {
 public:
  /// `bytes`: of sources, PTX and cubins together.
  explicit BinaryCache(std::size_t bytes = std::size_t{256} << 20) : binaries_(bytes) {}

  std::optional<Binary> find(const protocol::Compile& request);
  void keep(const protocol::Compile& request, const Binary& binary);

 private:
  std::mutex mutex_;
  RecentlyUsed<Binary> binaries_;
};

}  // namespace evo
