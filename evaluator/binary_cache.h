#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "evaluator/device.h"
#include "evaluator/protocol.h"

namespace evo {

/// Programs that were compiled and may be asked for again soon: what the cost model ranks first is evaluated next, and
/// elites are timed again. Known by their whole request, so that no two are taken for each other. Safe for several
/// threads.
class BinaryCache {
 public:
  /// `bytes`: of sources, PTX and cubins together; those that were not asked for longest go.
  explicit BinaryCache(std::size_t bytes = std::size_t{256} << 20) : budget_(bytes) {}

  std::optional<Binary> find(const protocol::Compile& request);
  void keep(const protocol::Compile& request, const Binary& binary);

 private:
  struct Entry {
    std::string key;
    Binary binary;
  };

  std::size_t budget_;
  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  // the latest asked for first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_;  // keys are those of entries_
};

}  // namespace evo
