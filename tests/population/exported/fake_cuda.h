#pragma once

// What only nvcc defines, and exported files use outside of their kernels.
#define __launch_bounds__(...)
