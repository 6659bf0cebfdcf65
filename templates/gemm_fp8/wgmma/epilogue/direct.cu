#include "gemm_bf16/wgmma/epilogue/direct.cu"
