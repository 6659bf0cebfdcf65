#define XXH_INLINE_ALL
#include <xxhash.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/kernel/host_program.h"
#include "cli/kernel/kernel_options.h"
#include "cli/kernel/kernel_run.h"
#include "cli/model/cost_report.h"
#include "evaluator/numbers/elements.h"

namespace evo::cli {
namespace {

/// Figures over all values of a buffer.
/// Of a dense array of this dtype.
std::uint64_t elements_of(const BufferResult& buffer) {
  return buffer.after.size() * 8 / static_cast<std::uint64_t>(bits_of(buffer.spec.type.element));
}

/// Bit for bit.
bool has_changed(const BufferResult& buffer, std::uint64_t index) {
  const DType dtype = buffer.spec.type.element;
  if (bits_of(dtype) < 8) {
    const Number before = load_at(dtype, buffer.before.data(), index),
                 after = load_at(dtype, buffer.after.data(), index);
    return before != after || std::signbit(as_double(before)) != std::signbit(as_double(after));
  }
  const std::size_t size = size_of(dtype);
  return std::memcmp(buffer.after.data() + index * size, buffer.before.data() + index * size, size) != 0;
}

struct Summary {
  std::uint64_t elements = 0;
  std::uint64_t changed = 0;
  std::uint64_t not_a_number = 0;
  double least = std::numeric_limits<double>::infinity();
  double greatest = -std::numeric_limits<double>::infinity();
  double sum = 0;
  std::string checksum;  ///< XXH3-64 of the bytes.
};

Summary summary_of(const BufferResult& buffer) {
  Summary summary;
  const DType element = buffer.spec.type.element;
  summary.elements = elements_of(buffer);
  for (std::uint64_t i = 0; i < summary.elements; ++i) {
    summary.changed += has_changed(buffer, i) ? 1u : 0u;
    const double value = as_double(load_at(element, buffer.after.data(), i));
    if (std::isnan(value)) {
      ++summary.not_a_number;
      continue;
    }
    summary.least = std::min(summary.least, value);
    summary.greatest = std::max(summary.greatest, value);
    summary.sum += value;
  }
  summary.checksum = fmt::format("{:016x}", XXH3_64bits(buffer.after.data(), buffer.after.size()));
  return summary;
}

std::vector<std::string> first_values(const BufferResult& buffer, std::size_t most) {
  std::vector<std::string> values;
  const DType element = buffer.spec.type.element;
  const std::uint64_t count = std::min<std::uint64_t>(most, elements_of(buffer));
  for (std::uint64_t i = 0; i < count; ++i)
    values.push_back(text_of(element, load_at(element, buffer.after.data(), i)));
  return values;
}

std::string dims_text(const Dim3& dims) {
  return fmt::format("{}x{}x{}", dims[0], dims[1], dims[2]);
}

std::string figure(double value) {
  return fmt::format("{:.6g}", value);
}

std::string launch_text(const KernelResults& run, const LaunchResult& result, const Terminal& terminal,
                        bool explained) {
  const Launch& launch = result.launch;
  std::string text =
      fmt::format("{}({}) on {}: grid {}, block {}", styled(terminal, Style::bold, result.kernel),
                  fmt::join(result.arguments, ", "), run.device.id, dims_text(launch.grid), dims_text(launch.block));
  if (launch.cluster != Dim3{1, 1, 1}) text += fmt::format(", cluster {}", dims_text(launch.cluster));
  if (launch.dynamic_smem_bytes > 0) text += fmt::format(", {} B of dynamic shared memory", launch.dynamic_smem_bytes);
  text += "\n";
  if (!result.run.printed.empty()) {
    text += result.run.printed;
    if (!result.run.printed.ends_with('\n')) text += "\n";
  }
  if (result.failure) {
    return text + fmt::format("  {}: {}\n", styled(terminal, Style::bad, std::string(name_of(result.failure->verdict))),
                              one_line(result.failure->reason));
  }
  const vgpu::LaunchCost& cost = result.run.cost;
  text += fmt::format("  no finding; {} warp instructions\n", grouped(result.run.warp_instructions));
  text += fmt::format("  modelled: {} us, bound by {}, occupancy {}\n", microseconds(cost.latency_us), cost.bound,
                      percent(cost.occupancy));
  if (explained) {
    vgpu::PlanCost plan;
    plan.latency_us = cost.latency_us;
    plan.launches = {cost};
    text += cost_text(plan, terminal);
  }
  return text;
}

Json launch_json(const LaunchResult& result) {
  const Launch& launch = result.launch;
  Json json = {{"kernel", result.kernel},
               {"ptx_name", launch.kernel},
               {"grid", launch.grid},
               {"block", launch.block},
               {"cluster", launch.cluster},
               {"dynamic_smem_bytes", launch.dynamic_smem_bytes},
               {"arguments", result.arguments},
               {"printed", result.run.printed},
               {"warp_instructions", result.run.warp_instructions}};
  json["finding"] = nullptr;
  if (result.failure)
    json["finding"] = {{"verdict", name_of(result.failure->verdict)}, {"reason", result.failure->reason}};
  json["cost"] = result.failure ? Json(nullptr) : cost_json(result.run.cost);
  return json;
}

Json number_json(Number number) {
  if (!std::isfinite(as_double(number))) return nullptr;
  return std::visit([](auto held) { return Json(held); }, number);
}

Json buffer_json(const BufferResult& buffer, std::size_t shown) {
  const Summary summary = summary_of(buffer);
  const bool any = summary.elements > summary.not_a_number;
  const auto finite_or_null = [&](double value) { return any && std::isfinite(value) ? Json(value) : Json(nullptr); };
  Json values = Json::array();
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(shown, summary.elements); ++i)
    values.push_back(number_json(load_at(buffer.spec.type.element, buffer.after.data(), i)));
  return {{"name", buffer.spec.name},
          {"type", buffer.spec.type.name()},
          {"dims", buffer.spec.dims},
          {"bytes", buffer.after.size()},
          {"changed", summary.changed},
          {"nan", summary.not_a_number},
          {"min", finite_or_null(summary.least)},
          {"max", finite_or_null(summary.greatest)},
          {"sum", finite_or_null(summary.sum)},
          {"xxh3_64", summary.checksum},
          {"values", values}};
}

std::string vgpu_text(const KernelResults& run, const Terminal& terminal, bool explained) {
  std::string text;
  if (run.compiled) {
    text += fmt::format("{}: compiled for {}: {} registers, {} B spilled, {} B of static shared memory\n", run.file,
                        run.arch, run.build.largest().registers, run.build.largest().spill_bytes,
                        run.build.largest().static_smem_bytes);
  }
  for (const LaunchResult& result : run.launches) text += launch_text(run, result, terminal, explained);
  if (run.buffers.empty()) return text;
  Table table({"buffer", "type", ">changed", ">nan", ">min", ">max", ">sum", "xxh3-64", "first values"});
  for (const BufferResult& buffer : run.buffers) {
    const Summary summary = summary_of(buffer);
    const bool any = summary.elements > summary.not_a_number;
    table.add({buffer.spec.name, fmt::format("{}[{}]", buffer.spec.type.name(), fmt::join(buffer.spec.dims, ",")),
               grouped(summary.changed), grouped(summary.not_a_number), any ? figure(summary.least) : "-",
               any ? figure(summary.greatest) : "-", any ? figure(summary.sum) : "-", summary.checksum,
               fmt::format("{}", fmt::join(first_values(buffer, run.shown_values), " "))});
  }
  return text + table.text(terminal, 2);
}

std::string vgpu_document(const KernelResults& run) {
  Json launches = Json::array(), buffers = Json::array();
  for (const LaunchResult& result : run.launches) launches.push_back(launch_json(result));
  for (const BufferResult& buffer : run.buffers) buffers.push_back(buffer_json(buffer, run.shown_values));
  Json json = json_document("vgpu");
  json["file"] = run.file;
  json["device"] = run.device.id;
  json["arch"] = run.arch;
  json["registers"] = run.compiled ? Json(run.build.largest().registers) : Json(nullptr);
  json["spill_bytes"] = run.compiled ? Json(run.build.largest().spill_bytes) : Json(nullptr);
  json["ok"] = succeeded(run);
  json["launches"] = launches;
  json["buffers"] = buffers;
  return json_text(json);
}

int run_vgpu(const KernelRequest& request) {
  const KernelResults run = run_kernels(request);
  print("{}", request.json ? vgpu_document(run) : vgpu_text(run, terminal_of(stdout), request.explained));
  return succeeded(run) ? kDone : kNothingValid;
}

}  // namespace

void add_vgpu(CLI::App& app, Invocation& invocation) {
  auto request = std::make_shared<KernelRequest>();
  CLI::App* command = app.add_subcommand("vgpu", "Run any kernel, from a .cu or .ptx file, on the virtual GPU");
  add_option(*command, "FILE", "", request->file, "CUDA C++ that NVRTC compiles, or PTX (.ptx)");
  auto program = std::make_shared<HostProgramRequest>();
  add_program_option(*command, program->program);
  add_kernel_options(*command, *request);
  add_option(*command, "--out", "NAME=FILE", request->outputs,
             "After the last launch, write a buffer to a file: as .npy, or else its bytes");
  add_option(*command, "--print", "N", request->shown_values, "Print the first N values of each buffer");
  command->add_flag("--explain", request->explained, "Print where the modelled time goes");
  add_json_flag(*command, request->json);
  command->footer(kArgumentsHelp);
  command->callback([request, program, &invocation, command] {
    take_kernel_options(*request, *command);
    const bool whole = take_program(*program, *request, *command, invocation.behind_program);
    invocation.action = [=] { return whole ? run_host_program(*program) : run_vgpu(*request); };
  });
}

}  // namespace evo::cli
