// Rows of ${M} elements in packets of packet_bytes: how they are loaded and stored, and which a thread has.
//% let near = load_cache == 'stream' ? 'ld.global.cs.nc' : 'ld.global.nc'
//% let far = load_cache == 'no_l1' ? 'ld.global.nc.L1::no_allocate' : 'ld.global.nc.L1::no_allocate.L2::256B'
//% let load_operation = load_cache in ('no_l1', 'no_l1_256') ? far : near
//% let store_operation = store_cache == 'stream' ? 'st.global.cs' : 'st.global'
#include "include/elements.cuh"

constexpr int columns = ${M};
constexpr int row_threads = ${row_threads};
constexpr int cta_rows = ${cta_rows};
constexpr int threads = row_threads * cta_rows;
constexpr int packet_bytes = ${packet_bytes};
constexpr int packet_elements = packet_bytes / sizeof(Element);
constexpr int packets = ${packets};                     // of a thread in a row
typedef Packet<packet_bytes> RowPacket;

#include "include/row_reduction.cuh"

// The first column of packet `i` of this thread: neighbouring threads have neighbouring packets.
__device__ __forceinline__ int column_of(int i) {
  return (i * row_threads + (int)threadIdx.x % row_threads) * packet_elements;
}
