#pragma once

/// EVO_CPU_CLONES before a function compiles it for plain x86-64, AVX2 and AVX-512 and lets the loader choose. Loops in
/// it are vectorised by the compiler; the bits do not depend on the choice. Sanitizers run before the loader's choice
/// is possible, so sanitized builds have the plain form only.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_UNDEFINED__)
#define EVO_CPU_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define EVO_CPU_CLONES
#endif

/// Before a loop over lanes whose iterations are independent even where output and input rows are the same row.
#if defined(__clang__)
#define EVO_LANE_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define EVO_LANE_LOOP _Pragma("GCC ivdep")
#endif
