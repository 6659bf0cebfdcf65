#pragma once

#include <optional>

#include "engine/task/calibration.h"
#include "evaluator/hosts/pipeline_options.h"
#include "evaluator/judge/cases.h"
#include "evaluator/judge/noise_floor.h"
#include "evaluator/judge/oracle.h"
#include "evaluator/pipeline/device_judging.h"
#include "evaluator/worker/worker_client.h"

namespace evo {

/// What candidates are validated with. All of it must outlive the validation.
struct ValidationSetup {
  const PipelineOptions& options;
  const std::optional<Calibration>& calibration;
  const CasePlan& plan;
  OracleStore& oracles;
  ExtraOracles& extra;
  NoiseFloor& floor;
  WorkerClient& device;
  DeviceJudging* judging = nullptr;  ///< Null: the host judges.
};

}  // namespace evo
