#include "gemm_bf16/mma_sync/epilogue/staged.cu"
