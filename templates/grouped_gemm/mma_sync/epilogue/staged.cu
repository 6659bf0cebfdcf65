#include "include/gemm/mma_sync/epilogue/staged.cuh"
