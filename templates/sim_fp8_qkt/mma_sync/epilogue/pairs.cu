#include "include/scores/pairs.cuh"
