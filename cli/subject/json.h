#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "engine/result/evaluation.h"
#include "engine/task/candidate.h"
#include "engine/task/genome.h"
#include "evaluator/device/device.h"
#include "population/store/store.h"

/// The parts that the JSON documents of several commands share, as docs/json.md describes them.
namespace evo::cli {

nlohmann::ordered_json value_json(const Value& value);
nlohmann::ordered_json bindings_json(const Bindings& bindings);
nlohmann::ordered_json genome_json(const Genome& genome);
nlohmann::ordered_json shapes_json(const std::vector<Shape>& shapes);
nlohmann::ordered_json target_json(const Target& target);
nlohmann::ordered_json device_json(const DeviceRecord& device);
nlohmann::ordered_json device_json(const DeviceInfo& device);

/// `with_samples`: also every sample of each timing.
nlohmann::ordered_json timings_json(const std::vector<Timing>& timings, bool with_samples);
nlohmann::ordered_json evaluation_json(const Evaluation& evaluation);

nlohmann::ordered_json run_json(const RunRow& row);
nlohmann::ordered_json outcome_json(const OutcomeRow& row);
nlohmann::ordered_json elites_json(const std::vector<EliteRow>& rows);

nlohmann::ordered_json checks_json(const std::vector<EliteCheck>& checks);
nlohmann::ordered_json sitting_json(const Sitting& sitting);

/// null for a limit that is not set, which is stored as 0.
nlohmann::ordered_json positive_or_null(double limit);

}  // namespace evo::cli
