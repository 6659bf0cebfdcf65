#include "include/gemm/wgmma/epilogue/direct.cuh"
