#include "include/attention/schedule/early_output.cuh"
