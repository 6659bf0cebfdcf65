// Elements of x, ${packet_bytes} bytes at a time.
#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/grid_dependency.cuh"

//% let near = load_cache == 'stream' ? 'ld.global.cs.nc' : 'ld.global.nc'
//% let far = load_cache == 'no_l1' ? 'ld.global.nc.L1::no_allocate' : 'ld.global.nc.L1::no_allocate.L2::256B'
//% let load_operation = load_cache in ('no_l1', 'no_l1_256') ? far : near
//% let store_operation = store_cache == 'stream' ? 'st.global.cs' : 'st.global'
#include "include/elements.cuh"

constexpr int packet_bytes = ${packet_bytes};
constexpr int packet_elements = packet_bytes / sizeof(Element);
typedef Packet<packet_bytes> ElementPacket;

#include "quantise/codes.cuh"
