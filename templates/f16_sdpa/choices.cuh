#pragma once
#include "include/attention/choices.cuh"

constexpr bool causal = ${mask == 'causal'};
constexpr bool persistent = ${persistent};
constexpr bool works_in_pairs = true;
constexpr KeyOrder kv_order = KeyOrder::${kv_order};
constexpr Rescale rescale_when = Rescale::${rescale};
constexpr float let_pass = ${rescale_threshold}.0f;  // octaves, if rows are rescaled beyond a threshold
constexpr bool merges = ${merges};                // groups or CTAs of a cluster bring their rows together
constexpr bool split_over_cluster = ${split_over_cluster};
constexpr bool split_over_grid = ${split_over_grid};
constexpr bool waits_for_launches = ${waits_for_launches};
constexpr bool weighs_by_ex2 = ${exponential == 'ex2'};
