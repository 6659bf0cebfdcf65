#pragma once

#include <cstdint>
#include <functional>

namespace evo {

/// Cores that this process may use: those of its affinity mask (taskset, containers), at least one.
int usable_cores();

/// Calls `work(begin, end)` over [0, count) cut into chunks of `chunk`, on several threads when there is more than one
/// chunk. What a chunk covers never depends on the number of threads, so sums kept for each chunk are reproducible.
void parallel_chunks(std::uint64_t count, std::uint64_t chunk,
                     const std::function<void(std::uint64_t begin, std::uint64_t end)>& work);

}  // namespace evo
