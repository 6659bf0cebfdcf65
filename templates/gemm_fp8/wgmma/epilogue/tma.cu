#include "gemm_bf16/wgmma/epilogue/tma.cu"
