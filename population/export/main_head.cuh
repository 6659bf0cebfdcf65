#ifdef EVO_MAIN
// ---- A program that checks the launcher against a plain reference and times it.
// Exit code 0: right; 1: wrong; 2: wrong arguments; 3: no GPU, or CUDA failed.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>
