#pragma once
// Placement new. NVRTC knows operator new and delete themselves.
#include <cuda/std/cstddef>
#if __has_include(<cuda/std/__new_>)
#include <cuda/std/__new_>
#elif __has_include(<cuda/std/detail/libcxx/include/new>)
#include <cuda/std/detail/libcxx/include/new>
#endif
namespace std { using namespace cuda::std; }
