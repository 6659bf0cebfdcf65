#pragma once

#include <cstddef>
#include <mutex>
#include <optional>

#include "evaluator/base/recently_used.h"
#include "evaluator/device/device.h"
#include "evaluator/worker/protocol.h"

namespace evo {

/// Programs that were compiled and may be asked for again soon: what the cost model ranks first is evaluated next, and
/// elites are timed again. Known by their whole request, so that no two are taken for each other. Safe for several
/// threads.
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
