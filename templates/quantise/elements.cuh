// Elements of x, ${packet_bytes} bytes at a time.
#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/grid_dependency.cuh"

#include "include/elements.cuh"

constexpr int packet_bytes = ${packet_bytes};
constexpr int packet_elements = packet_bytes / sizeof(Element);
typedef Packet<packet_bytes> ElementPacket;
constexpr bool waits_for_launches = ${dependent_launch && pdl};

#include "quantise/codes.cuh"
