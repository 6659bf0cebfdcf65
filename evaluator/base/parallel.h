#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace evo {

/// Calls `work(begin, end)` over [0, count) cut into chunks of `chunk`, on several threads when there is more than one
/// chunk. What a chunk covers never depends on the number of threads, so sums kept for each chunk are reproducible.
void parallel_chunks(std::uint64_t count, std::uint64_t chunk,
                     const std::function<void(std::uint64_t begin, std::uint64_t end)>& work);

/// Calls a worker for each index below `count`, in no order, on all usable cores; `make_worker` makes one for each
/// thread. What one throws ends them all and is thrown here.
void parallel_each(std::size_t count, const std::function<std::function<void(std::size_t index)>()>& make_worker);

}  // namespace evo
