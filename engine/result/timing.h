#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "engine/record/record.h"

namespace evo {

/// The state of a GPU while it was timed, as far as it is known.
struct Conditions {
  std::optional<int> sm_mhz_low = {};
  std::optional<int> sm_mhz_high = {};
  std::optional<int> memory_mhz = {};  ///< The lowest.
  int other_processes = 0;             ///< Processes other than evo's that computed on the GPU.
  bool power_limited = false;  ///< The GPU's power limit lowered its clocks, because of what the kernel draws: no
                               ///< disturbance. The driver may report it late.
  std::optional<int> temperature_c = {};  ///< The highest.
};

EVO_RECORD(Conditions, sm_mhz_low, sm_mhz_high, memory_mhz, other_processes, power_limited, temperature_c);

/// "SM 1755-1980 MHz (power limit), memory 3201 MHz, 61 C"; empty where unknown.
std::string to_text(const Conditions& conditions);

/// Whether an SM clock is a GPU's full one, within 1 %. An unknown clock (0) is not.
bool is_full_clock(int sm_mhz, double full_mhz);

/// One shape's latency. `modelled` times come from the virtual GPU's cost model and never mix with measured
/// ones.
struct Timing {
  std::string shape;
  bool modelled = false;
  bool cold = false;
  double median_us = 0;
  double low_us = 0;  ///< 95 % confidence interval of the median.
  double high_us = 0;
  int throttled = 0;  ///< Samples dropped.
  std::vector<double> samples_us;
  Conditions conditions = {};
};

template <>
inline constexpr auto kFields<Timing> = std::tuple(Field{"shape", &Timing::shape}, Field{"modelled", &Timing::modelled},
                                                   Field{"cold", &Timing::cold}, Field{"median_us", &Timing::median_us},
                                                   Field{"low_us", &Timing::low_us}, Field{"high_us", &Timing::high_us},
                                                   Field{"throttled", &Timing::throttled},
                                                   Field{"samples_us", &Timing::samples_us},
                                                   Field{"", &Timing::conditions});
static_assert(lists_all_fields<Timing>());

}  // namespace evo
