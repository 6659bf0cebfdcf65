#include "include/gemm/wgmma/epilogue/tma.cuh"
