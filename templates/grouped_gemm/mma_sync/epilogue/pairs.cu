#include "include/gemm/mma_sync/epilogue/pairs.cuh"
