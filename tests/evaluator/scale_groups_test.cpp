#include "evaluator/device/scale_groups.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <vector>

using namespace evo;

TEST_CASE("runs of elements that share a scale cover a tensor in order, and each has the scale of its elements") {
  struct Tensor {
    std::vector<std::uint64_t> dims, scale_dims;
    std::uint64_t runs = 0;
  };
  const std::vector<Tensor> tensors = {
      {{2, 3, 4, 5}, {1, 1, 1, 1}, 1},    // of the tensor
      {{2, 3, 4, 5}, {2, 3, 1, 1}, 6},    // of each head
      {{2, 3, 4, 5}, {1, 1, 4, 1}, 24},   // of each row, shared by the heads
      {{2, 3, 4, 5}, {1, 1, 1, 5}, 120},  // of each channel
      {{3, 7}, {3, 3}, 9},                // of groups of three, the last shorter
      {{7, 2}, {2, 1}, 2},                // of four rows, then three
      {{1}, {1}, 1},
  };
  for (const auto& [dims, scale_dims, runs] : tensors) {
    const ScaleGroups groups(dims, scale_dims);
    std::uint64_t elements = 1, visited = 0, count = 0;
    for (const std::uint64_t dim : dims) elements *= dim;
    groups.visit_runs(0, elements, [&](std::uint64_t group, std::uint64_t begin, std::uint64_t end) {
      CHECK(begin == visited);
      REQUIRE(end > begin);
      for (std::uint64_t i = begin; i < end; ++i) CHECK(groups.of(i) == group);
      visited = end;
      ++count;
    });
    CHECK(visited == elements);
    CHECK(count == runs);
  }
}

TEST_CASE("a part of a tensor is visited from its own first to its own last element") {
  const ScaleGroups groups(std::vector<std::uint64_t>{4, 10}, std::vector<std::uint64_t>{4, 1});
  std::vector<std::uint64_t> ends;
  groups.visit_runs(7, 23, [&](std::uint64_t, std::uint64_t, std::uint64_t end) { ends.push_back(end); });
  CHECK(ends == std::vector<std::uint64_t>{10, 20, 23});
}
