#pragma once

#include <string>
#include <vector>

#include "evaluator/hosts/pipeline_options.h"

namespace evo {

/// The role of a worker that models programs for a run on another host: "models", its kind of devices, both deadlines
/// in seconds and a virtual GPU's id. It serves protocol::Compile and protocol::Model by worker processes of its own, a
/// compiler and a virtual GPU for each core that it may use, works on as many requests at once and answers them as they
/// are done.
std::vector<std::string> models_role(const PipelineOptions& options);
/// The role of one that only compiles: "compiles", the kind of devices, the deadline in seconds. It needs no device.
std::vector<std::string> compiles_role(const PipelineOptions& options);

bool is_helping_role(const std::vector<std::string>& arguments);
/// `worker_command`: as in PipelineOptions. Returns the exit code as serve_worker (worker.h) does.
int serve_helping(std::vector<std::string> arguments, const std::vector<std::string>& worker_command);

}  // namespace evo
