#include "include/attention/e4m3/exponential/ex2_f16x2.cuh"
