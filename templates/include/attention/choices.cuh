#pragma once
// What the genes of kernels on warpgroups choose between: docs/kernels/wgmma.md tells what each means.
enum class QueryOperand { smem, registers, global };
enum class ValuePath { producer, consumers, all, prepass, widened, given };
enum class Schedule { sequential, early_output, overlap, ping_pong, ahead };
enum class Rescale { always, changed, threshold };
enum class RowSum { ones, adds, eighths };
enum class KeyOrder { forward, backward };
enum class Epilogue { direct, tma };
enum class DependentLaunch { none, late, early };
