#pragma once

/// How functions and loops over a warp's lanes are compiled, so that the compiler vectorises them.

/// EVO_CPU_CLONES before a function compiles it for plain x86-64, AVX2 and AVX-512; the loader chooses the best that
/// the CPU has. The results are the same bits in all three. Sanitized builds have the plain form only, because
/// sanitizers run before the loader can choose.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_UNDEFINED__)
#define EVO_CPU_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define EVO_CPU_CLONES
#endif

/// Before a loop over lanes whose iterations are independent, even where the output row is one of the input rows.
#if defined(__clang__)
#define EVO_LANE_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define EVO_LANE_LOOP _Pragma("GCC ivdep")
#endif

/// A function that a loop over lanes calls: it must be inlined to be compiled for the CPU of its caller.
#define EVO_INLINE inline __attribute__((always_inline))
