// 3/4 of an octave: weights may exceed the 2^8 of the maximum by that much, which e4m3 holds (code 126).
constexpr float let_pass = 0.75f * units_per_octave;
//% include "include/attention/rescale.cuh"
