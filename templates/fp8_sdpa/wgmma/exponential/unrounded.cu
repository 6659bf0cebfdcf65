#include "include/attention/e4m3/exponential/unrounded.cuh"
