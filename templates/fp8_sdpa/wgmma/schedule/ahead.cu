#include "include/attention/schedule/ahead.cuh"
