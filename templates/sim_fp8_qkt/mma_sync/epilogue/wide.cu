#include "include/scores/wide.cuh"
