#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/expression/expression.h"
#include "engine/result/evaluation.h"
#include "evaluator/base/statistics.h"

namespace evo::cli {

/// "4.573", "12.34", "123.4", "3482": four significant digits, no exponent.
std::string microseconds(double value_us);

/// "12,345,678".
std::string grouped(std::uint64_t number);

/// "3.1e12" above 2^63, else grouped.
std::string grouped(double number);

/// "0.0312": three significant digits.
std::string error_figure(double relative_l2);

/// "14 %", "3.2 %".
std::string percent(double share);

/// "12 s", "3 min 05 s", "2 h 10 min".
std::string duration_text(double seconds);

/// "0.9812 [0.9790, 0.9833]": a ratio of latencies with its 95 % interval.
std::string ratio_text(const PairedRatio& ratio);

/// "measured" or "modelled".
std::string timing_word(bool modelled);

/// "31 valid, 6 wrong_answer, 3 compile_failed": the commonest first.
std::string verdict_counts(const std::map<Verdict, std::uint64_t>& counts);

/// "stages=3 tile_k=64": genes, options or sizes.
std::string bindings_text(const Bindings& bindings);

/// "-" where a genome has no such gene.
std::string allele_text(const std::optional<Value>& allele);

}  // namespace evo::cli
