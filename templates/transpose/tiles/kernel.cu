// transpose/tiles: a CTA turns a tile of ${tile_n} rows and ${tile_m} columns of ${element_bytes}-byte elements. Rows come into
// shared memory as packets. A thread takes a square of ${side} x ${side} elements from there, a packet of each of its
// rows, turns it in registers, and stores a packet of each of its columns: all accesses are of ${packet_bytes} bytes.

#include "include/types.cuh"
#include "include/memory.cuh"
#include "include/cp_async.cuh"
#include "include/grid_dependency.cuh"

typedef ${element_bytes == 1 ? 'unsigned char' : element_bytes == 2 ? 'unsigned short' : element_bytes == 4 ? 'u32' : 'unsigned long long'} Element;
constexpr int element_bytes = ${element_bytes};
constexpr int packet_bytes = ${packet_bytes};
constexpr int words = packet_bytes / 4;                 // of a packet
constexpr int side = ${side};                              // elements of a packet, and of the side of a square
constexpr int tile_n = ${tile_n};
constexpr int tile_m = ${tile_m};
constexpr int threads = ${threads};
constexpr int row_packets = tile_m / side;
constexpr int squares = tile_n / side * row_packets;
constexpr bool copies_async = ${copy == 'cp_async'};
constexpr bool rows_first = ${order == 'rows_first'};  // tiles that follow each other are below each other
constexpr bool waits_for_launches = ${dependent_launch && pdl};
constexpr bool streams = ${store_cache == 'stream'};  // results go first from L2

struct alignas(packet_bytes) Packet {
  u32 word[words];
};

// A matrix with rows of `columns` elements. Where these are no whole packets, rows begin anywhere, and elements are
// moved one by one.
struct Matrix {
  int rows, columns;
  __device__ __forceinline__ bool has_packets() const { return columns % side == 0; }
};

// Element `j` of a packet.
__device__ __forceinline__ Element element_of(const Packet& packet, int j) {
  if constexpr (element_bytes == 8) return packet.word[2 * j] | (unsigned long long)packet.word[2 * j + 1] << 32;
  return (Element)(packet.word[j * element_bytes / 4] >> j * element_bytes % 4 * 8);
}

__device__ __forceinline__ void put(Packet& packet, int j, Element element) {
  if constexpr (element_bytes == 8) {
    packet.word[2 * j] = (u32)element;
    packet.word[2 * j + 1] = (u32)((unsigned long long)element >> 32);
  } else {
    packet.word[j * element_bytes / 4] |= (u32)element << j * element_bytes % 4 * 8;
  }
}

// The packet that begins at a row and column; what lies outside of the matrix is zero.
__device__ __forceinline__ Packet load(const Element* x, const Matrix& matrix, int row, int column) {
  Packet packet = {};
  if (row >= matrix.rows) return packet;
  const Element* from = x + (long long)row * matrix.columns + column;
  if (matrix.has_packets()) {
    if (column < matrix.columns) packet = *(const Packet*)from;
    return packet;
  }
#pragma unroll
  for (int j = 0; j < side; ++j) {
    if (column + j < matrix.columns) put(packet, j, from[j]);
  }
  return packet;
}

__device__ __forceinline__ void store_packet(Element* to, const Packet& packet) {
  if constexpr (!streams) {
    *(Packet*)to = packet;
  } else if constexpr (words == 1) {
    __stcs((unsigned int*)to, packet.word[0]);
  } else if constexpr (words == 2) {
    __stcs((uint2*)to, make_uint2(packet.word[0], packet.word[1]));
  } else {
    __stcs((uint4*)to, make_uint4(packet.word[0], packet.word[1], packet.word[2], packet.word[3]));
  }
}

__device__ __forceinline__ void store(Element* y, const Matrix& matrix, int row, int column, const Packet& packet) {
  if (row >= matrix.rows) return;
  Element* to = y + (long long)row * matrix.columns + column;
  if (matrix.has_packets()) {
    if (column < matrix.columns) store_packet(to, packet);
    return;
  }
#pragma unroll
  for (int j = 0; j < side; ++j) {
    if (column + j < matrix.columns) to[j] = element_of(packet, j);
  }
}

// Word `w` of the packet of column `j` of a square: element j of each of a word's rows.
__device__ __forceinline__ u32 turned_word(const Packet (&rows)[side], int j, int w) {
  if constexpr (element_bytes >= 4) {
    constexpr int element_words = element_bytes / 4;
    return rows[w / element_words].word[j * element_words + w % element_words];
  } else if constexpr (element_bytes == 2) {
    const u32 first = rows[2 * w].word[j / 2], second = rows[2 * w + 1].word[j / 2];
    return __byte_perm(first, second, j % 2 == 0 ? 0x5410 : 0x7632);
  } else {
    const u32 pair = j % 4 * 0x11 + 0x40;               // byte j of the first, and of the second
    const u32 low = __byte_perm(rows[4 * w].word[j / 4], rows[4 * w + 1].word[j / 4], pair);
    const u32 high = __byte_perm(rows[4 * w + 2].word[j / 4], rows[4 * w + 3].word[j / 4], pair);
    return __byte_perm(low, high, 0x5410);
  }
}

// Squares of the same columns lie `side` rows apart; their packets of one column are in different banks.
__device__ __forceinline__ int slot_of(int row, int packet) {
  return row * row_packets + (packet ^ row / side % row_packets);
}

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) transpose(
    const Element* __restrict__ x, Element* __restrict__ y, int N, int M) {
  extern __shared__ uint4 dynamic_smem[];
  Packet* const tile = (Packet*)dynamic_smem;
  const Matrix input = {N, M}, output = {M, N};
  const int tiles_n = (N + tile_n - 1) / tile_n, tiles_m = (M + tile_m - 1) / tile_m;
  const int in_matrix = blockIdx.x % (tiles_n * tiles_m);
  const int first_n = (rows_first ? in_matrix % tiles_n : in_matrix / tiles_m) * tile_n;
  const int first_m = (rows_first ? in_matrix / tiles_n : in_matrix % tiles_m) * tile_m;
  const long long matrix = (long long)(blockIdx.x / (tiles_n * tiles_m)) * N * M;
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }

#pragma unroll ${unroll}
  for (int i = threadIdx.x; i < tile_n * row_packets; i += threads) {
    const int row = i / row_packets, packet = i % row_packets;
    const int n = first_n + row, m = first_m + packet * side;
    if (copies_async && input.has_packets()) {
      const bool there = n < N && m < M;
      copy_async(shared_address_of(tile + slot_of(row, packet)), x + matrix + (there ? (long long)n * M + m : 0), there);
    } else {
      tile[slot_of(row, packet)] = load(x + matrix, input, n, m);
    }
  }
  if constexpr (copies_async) {
    commit_copies();
    wait_for_copies<0>();
  }
  __syncthreads();

#pragma unroll 1
  for (int i = threadIdx.x; i < squares; i += threads) {
    const int square_row = i % (tile_n / side), packet = i / (tile_n / side);
    Packet rows[side];
#pragma unroll
    for (int j = 0; j < side; ++j) rows[j] = tile[slot_of(square_row * side + j, packet)];
#pragma unroll
    for (int j = 0; j < side; ++j) {
      Packet column;
#pragma unroll
      for (int w = 0; w < words; ++w) column.word[w] = turned_word(rows, j, w);
      store(y + matrix, output, first_m + packet * side + j, first_n + square_row * side, column);
    }
  }
}
