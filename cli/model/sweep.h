#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/task/genome.h"
#include "engine/task/task.h"

namespace evo::cli {

/// Genomes of one family with latencies measured on a GPU, at one shape.
struct Sweep {
  std::string name;   ///< After the file: "fp8_sdpa_wgmma_1_8_512_64_h200".
  std::string task;   ///< The file's kernel_name.
  std::string gpu;    ///< The file's device_name: "NVIDIA H200".
  std::string shape;  ///< The file's problem_size: "1,8,512,64".
  struct Point {
    Bindings genes;  ///< Also of genes that are inactive in the genome.
    double measured_us = 0;
  };
  std::vector<Point> points;  ///< Those that ran and were right, in the file's order.
  std::vector<Point> failed;  ///< Those that were built but failed then; not measured.
};

/// Reads a Kernel Tuner cache, plain or gzipped. Throws usage_error naming the file and what is wrong with
/// it.
Sweep read_sweep(const std::filesystem::path& path);

/// At most `limit` points, after the first `skip`, of a random order that is always the same.
std::vector<Sweep::Point> draw(const Sweep& sweep, std::size_t skip, std::size_t limit);

}  // namespace evo::cli
