#include "include/attention/schedule/overlap.cuh"
