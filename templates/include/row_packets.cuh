// Rows of ${M} elements in packets of packet_bytes: how they are loaded and stored, and which a thread has.
#include "include/elements.cuh"

constexpr int columns = ${M};
constexpr int row_threads = ${row_threads};
constexpr int cta_rows = ${cta_rows};
constexpr int threads = row_threads * cta_rows;
constexpr int packet_bytes = ${packet_bytes};
constexpr int packet_elements = packet_bytes / sizeof(Element);
constexpr int packets = ${packets};                     // of a thread in a row
constexpr bool persistent = ${ctas_per_sm > 0};  // CTAs walk over all rows
constexpr bool waits_for_launches = ${dependent_launch && pdl};
typedef Packet<packet_bytes> RowPacket;

#include "include/row_reduction.cuh"

// The first column of packet `i` of this thread: neighbouring threads have neighbouring packets.
__device__ __forceinline__ int column_of(int i) {
  return (i * row_threads + (int)threadIdx.x % row_threads) * packet_elements;
}
