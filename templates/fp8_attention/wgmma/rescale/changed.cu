constexpr Rescale rescale_when = Rescale::changed;
#include "include/attention/rescale.cuh"
