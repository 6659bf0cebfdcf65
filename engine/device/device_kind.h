#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace evo {

/// What devices of one kind have in common. Code that treats kinds differently asks for one of these facts, never for a
/// name. How devices of a kind are found and opened: evaluator/device/device_backend.h.
struct DeviceKind {
  std::string name;         ///< "cuda": begins the ids of its devices, names them in task.json and in the database.
  std::string title;        ///< For messages: "a GPU".
  bool modelled = false;    ///< Its latencies come from a model. They are exact and never mix with measured ones.
  std::string models = {};  ///< The kind whose latencies it models; empty for a kind that measures.
  bool cold_timing = true;  ///< It can also time calls that find nothing in the caches.
  bool sanitises = false;   ///< It finds races and reads of unwritten memory.
  bool checks_accesses = false;  ///< It refuses an access outside of a buffer, which therefore needs no guards.
  bool repeatable = false;       ///< A kernel without races gives the same bits and the same latency in every run.
  bool on_host = false;          ///< It computes on the CPU in this machine's memory: its workers need no driver.
  std::size_t width = 0;         ///< Candidates in flight; 0: as many as keep it busy.
  double run_deadline_s = 60;    ///< For one case or one timing.
  double work_per_byte = 8;      ///< What a byte of a case's tensors costs, in flops: see work_of().
  double grid_work = 0;          ///< What the validation of one candidate may cost, in the unit of work_of().
  double held_out_work = 0;      ///< What one case of a held-out shape may cost, in the same unit.
  double run_s = 0;              ///< A run that names no limit ends after this time, or itself before.
};

/// Adds a kind, or replaces the one of its name. To be called before threads start.
void register_device_kind(DeviceKind kind);

/// The registered kind of this name; stays where it is. Throws usage_error that lists the kinds there are.
const DeviceKind& kind_named(std::string_view name);
/// The same; null when there is none.
const DeviceKind* find_kind(std::string_view name);
/// Every registered kind's name, in the order of registration.
std::vector<std::string_view> kind_names();

}  // namespace evo
