#include "gemm_bf16/mma_sync/epilogue/pairs.cu"
