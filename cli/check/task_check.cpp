#include "cli/check/task_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <variant>

#include "cli/check/argument_check.h"
#include "cli/check/author_file.h"
#include "cli/check/constant_check.h"
#include "cli/check/gene_use.h"
#include "cli/check/usual_cases.h"
#include "cli/subject/lookup.h"
#include "cli/subject/restore.h"
#include "cli/text/result_text.h"
#include "engine/base/error.h"
#include "engine/base/rng.h"
#include "engine/base/text.h"
#include "engine/device/device_kind.h"
#include "engine/task/candidate.h"
#include "engine/task/floor.h"
#include "engine/task/scope.h"
#include "engine/task/target.h"
#include "evaluator/base/cores.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/compile/kernel_names.h"
#include "evaluator/device/device_buffers.h"
#include "evaluator/device/guards.h"
#include "evaluator/device/pristine_inputs.h"
#include "evaluator/hosts/compile_worker.h"
#include "evaluator/judge/cases.h"
#include "evaluator/judge/oracle.h"
#include "evaluator/judge/output_comparison.h"
#include "evaluator/numbers/elements.h"
#include "evaluator/pipeline/gates.h"
#include "evaluator/vgpu/virtual_device.h"
#include "evaluator/worker/device_server.h"

namespace evo::cli {
namespace {

/// What a kernel on one small case never needs, and some seconds of one core.
constexpr std::uint64_t kMostOfWarp = 4'000'000, kMostOfLaunch = 60'000'000;
/// A reference may be a single thread.
constexpr std::uint64_t kMostOfReferenceWarp = 20'000'000;

/// A shape with the case that it is checked on and what the reference makes of it.
struct CheckedShape {
  Target target;
  Case one;
  std::optional<Expected> expected;
  std::string problem;  ///< Of the reference.
};

class Checker {
 public:
  Checker(const SourceTree& tree, const Task& task, const CheckRequest& request)
      : tree_(tree), task_(task), request_(request), compiler_(request.device) {}

  TaskCheck check() {
    TaskCheck result{task_.name, request_.device, task_.self_consistent, {}, {}, {}, {}};
    std::vector<CheckedShape> shapes = checked_shapes(result.skipped);
    for (const Family& family : families()) result.families.push_back(check_family(family, shapes));
    for (const CheckedShape& shape : shapes)
      if (!shape.problem.empty())
        result.reference.push_back(fmt::format("{}: {}", shape.one.shape.name, shape.problem));
    if (result.reference.empty()) result.null_answers = null_answers(shapes);
    return result;
  }

 private:
  std::vector<Family> families() const {
    if (!request_.family.empty()) return {find_family(tree_, task_, request_.family)};
    std::vector<Family> all = load_families(tree_, task_);
    if (all.empty())
      throw usage_error(fmt::format("{0}: the task has no family: there is no {0}/FAMILY/family.json", task_.name));
    return all;
  }

  std::vector<CheckedShape> checked_shapes(std::vector<std::string>& skipped) const {
    std::vector<std::string> names = request_.shapes;
    if (names.empty())
      for (const Shape& shape : task_.shapes) names.push_back(shape.name);
    std::vector<CheckedShape> shapes;
    for (const std::string& name : names) {
      if (std::string why = why_skipped(name); !why.empty()) {
        skipped.push_back(fmt::format("{}: {}", name, why));
        continue;
      }
      Target target = make_target(task_, request_.device.kind, {name}, request_.options);
      target.validated = target.timed;
      target.skipped.clear();
      Case one = usual_cases(task_, target).front();
      shapes.push_back({std::move(target), std::move(one), std::nullopt, ""});
    }
    return shapes;
  }

  /// A shape that was asked for is never skipped.
  std::string why_skipped(const std::string& name) const {
    if (!request_.shapes.empty()) return {};
    const Shape& shape = task_.shape(name);
    Bindings options = task_.default_options();
    for (const auto& [option, value] : request_.options) options[option] = value;
    if (!is_legal(task_, options, shape)) return fmt::format("does not meet '{}'", task_.legal.text());
    const DeviceKind& kind = kind_named(request_.device.kind);
    if (work_of(task_, options, shape, kind) > kind.held_out_work)
      return fmt::format("too much work for {}; --shapes {} checks it", kind.title, name);
    return {};
  }

  /// On the shape of least work. None where the reference is too much work for that.
  std::vector<NullAnswer> null_answers(const std::vector<CheckedShape>& shapes) const {
    const auto least = std::ranges::min_element(shapes, {}, [&](const CheckedShape& shape) { return work(shape); });
    if (least == shapes.end() || !least->expected) return {};
    try {
      return passing_null_answers(tree_, task_, least->target, request_.device);
    } catch (const Error& error) {
      if (error.fault() != Fault::usage) throw;
      return {};
    }
  }

  // --- the reference

  /// Runs it, once, on a device of its own: only candidates are sanitised.
  void run_reference(CheckedShape& shape) {
    if (shape.expected || !shape.problem.empty()) return;
    const auto fail = [&](const std::string& why) {
      // A message that names a place of its own needs no other.
      const std::string placed = request_.placed(why);
      shape.problem = placed == why ? fmt::format("{}: {}", task_.reference, why) : placed;
    };
    const Bindings specialisation = specialisations_of(task_, shape.target).front();
    try {
      const Program program = reference_program(tree_, task_, shape.target.options, specialisation, {shape.one.shape});
      auto compiled = compile(program);
      if (const auto* failure = std::get_if<Failure>(&compiled)) return fail(failure->reason);
      const Binary& binary = std::get<Binary>(compiled);
      const Plan& plan = program.plans.at(shape.one.shape.name);
      if (const std::vector<std::string> wrong = wrong_reference_arguments(binary, plan, task_); !wrong.empty()) {
        shape.problem = request_.placed(wrong.front());
        return;
      }
      if (const std::vector<std::string> zero = unfilled_constants(binary, plan); !zero.empty())
        return fail(fmt::format("nothing fills __constant__ {}: it is zero (key 'constants')", zero.front()));
      const std::unique_ptr<vgpu::VirtualGpu> gpu = vgpu::make_device(request_.device, usable_cores());
      if (request_.shapes.empty()) gpu->limit_instructions(kMostOfReferenceWarp);
      DeviceServer server(*gpu);
      const auto reply =
          run(server, binary, program.plans, shape.one.shape.name, reference_recipe(task_, shape.one.recipe));
      if (const auto* failure = std::get_if<Failure>(&reply)) return fail(program.lines.translated(failure->reason));
      const std::vector<std::byte>& outputs = std::get<protocol::Ran>(reply).outputs;
      if (const std::string bad = why_not_written(plan, outputs); !bad.empty()) return fail(bad);
      Expected expected = expected_outputs(plan, outputs);
      if (const std::string bad = why_no_answer(plan, expected); !bad.empty()) return fail(bad);
      note_drawn(task_, shape.target.options, shape.one.recipe, expected);
      shape.expected = std::move(expected);
    } catch (const Error& error) {
      if (error.fault() != Fault::usage) throw;
      shape.problem = request_.placed(error.what());
    }
  }

  std::variant<Binary, Failure> compile(const Program& program) {
    const auto key = std::tuple(program.source, program.max_registers, kernels_of(program), variables_of(program));
    auto known = compiled_.find(key);
    if (known == compiled_.end())
      known = compiled_.emplace(key, compiler_.compile(program, request_.device.arch)).first;
    return known->second;
  }

  static std::variant<protocol::Ran, Failure> run(DeviceServer& server, const Binary& binary,
                                                  const std::map<std::string, Plan>& plans, const std::string& shape,
                                                  const CaseRecipe& recipe) {
    protocol::Reply loaded = server.load({1, binary, plans});
    if (auto* failed = std::get_if<protocol::Failed>(&loaded)) return std::move(failed->failure);
    protocol::Reply ran = server.run({1, shape, recipe, 1});
    if (auto* failed = std::get_if<protocol::Failed>(&ran)) return std::move(failed->failure);
    return std::move(std::get<protocol::Ran>(ran));
  }

  // --- the families

  FamilyCheck check_family(const Family& family, std::vector<CheckedShape>& shapes) {
    FamilyCheck result;
    result.family = family.name;
    result.kernel_file = request_.placed(family.kernel_path);
    result.unused_genes = unused_genes(tree_, family);
    for (CheckedShape& shape : shapes) {
      const Bindings known = joined(known_to_space(request_.device, shape.target), shape.one.shape.parameters);
      if (!may_serve(family, known)) {
        result.skipped.push_back(fmt::format("{}: does not meet '{}'", shape.one.shape.name, family.legal.text()));
        continue;
      }
      run_reference(shape);
      result.shapes.push_back(check_shape(family, shape, result));
    }
    try_all_regimes(family, shapes, result);
    return result;
  }

  /// At the shape of least work, if the usual regime is right there.
  void try_all_regimes(const Family& family, const std::vector<CheckedShape>& shapes, FamilyCheck& result) const {
    const CheckedShape* least = nullptr;
    for (const ShapeCheck& checked : result.shapes) {
      const auto shape =
          std::ranges::find(shapes, checked.shape, [](const CheckedShape& one) { return one.one.shape.name; });
      if (!checked.fine() || (least != nullptr && work(*shape) >= work(*least))) continue;
      least = &*shape;
    }
    if (least == nullptr || task_.regimes_of(least->target.objective).size() < 2) return;
    try {
      const Candidate candidate = make_candidate(tree_, task_, family, first_genome(family, least->target),
                                                 least->target, facts_of(request_.device.limits));
      result.regimes = try_regimes(tree_, task_, candidate, least->target, request_.device);
      result.regimes_shape = least->one.shape.name;
      for (std::string& wrong : result.regimes.wrong) wrong = request_.placed(wrong);
    } catch (const Error& error) {
      if (error.fault() != Fault::usage) throw;
      result.regimes.wrong.push_back(request_.placed(error.what()));
    }
  }

  double work(const CheckedShape& shape) const {
    return work_of(task_, shape.target.options, shape.one.shape, kind_named(request_.device.kind));
  }

  ShapeCheck check_shape(const Family& family, const CheckedShape& shape, FamilyCheck& of_family) {
    ShapeCheck result;
    result.shape = shape.one.shape.name;
    try {
      if (const auto failure = why_stopped(family, shape, of_family, result))
        result.problem = request_.placed(with_file(failure->verdict, failure->reason, task_.name, family.name));
    } catch (const Error& error) {
      if (error.fault() != Fault::usage) throw;
      result.problem = request_.placed(error.what());
    }
    return result;
  }

  Genome first_genome(Family family, const Target& target) const {
    keep_constraints_of(target, family);
    const Space space({family}, known_to_space(request_.device, target), specialisations_of(task_, target));
    if (space.size() == 0) throw usage_error(fmt::format("family {} has no legal genome", family.name));
    if (space.size() < Space::kSaturated) return space.at(0);
    Rng rng(0);
    return space.sample(rng);
  }

  /// Empty when everything is fine.
  std::optional<Failure> why_stopped(const Family& family, const CheckedShape& shape, FamilyCheck& of_family,
                                     ShapeCheck& result) {
    const Genome genome = first_genome(family, shape.target);
    of_family.genome = to_text(genome);
    const Candidate candidate =
        make_candidate(tree_, task_, family, genome, shape.target, facts_of(request_.device.limits));
    result.reached = Reached::rendered;
    if (auto illegal = check_legality(candidate, request_.device)) return illegal;
    const Program& program = candidate.programs.front();
    auto compiled = compile(program);
    if (auto* failure = std::get_if<Failure>(&compiled)) return std::move(*failure);
    const Binary& binary = std::get<Binary>(compiled);
    result.reached = Reached::compiled;
    result.build = binary.build;
    // A kernel that a search would refuse, as for a global variable, may still run here.
    auto refused = check_build(program, binary, request_.device);
    const Plan& plan = program.plans.at(shape.one.shape.name);
    if (auto failure = why_not_launched(family, binary, plan, of_family)) return failure;
    if (auto failure = why_not_right(shape, program, binary, plan, result)) return failure;
    return refused;
  }

  std::optional<Failure> why_not_right(const CheckedShape& shape, const Program& program, const Binary& binary,
                                       const Plan& plan, ShapeCheck& result) const {
    SanitisedProgram sanitised(request_.device, program, binary);
    // A shape that was asked for may be as much work as it likes.
    if (request_.shapes.empty()) sanitised.limit_instructions(kMostOfWarp, kMostOfLaunch);
    auto answer = sanitised.run(shape.one);
    result.findings = sanitised.findings();
    for (PlacedFinding& found : result.findings) {
      found.finding.text = request_.placed(found.finding.text);
      found.finding.brief = request_.placed(found.finding.brief);
    }
    if (auto* failure = std::get_if<Failure>(&answer)) {
      if (failure->verdict != Verdict::timed_out) result.printed = printed_by(binary, plan, shape.one.recipe);
      return std::move(*failure);
    }
    result.printed = printed_by(binary, plan, shape.one.recipe);
    result.reached = Reached::ran;
    if (!shape.expected) return Failure{Verdict::harness_failed, "the reference gives nothing to compare with"};
    std::string wrong = why_wrong_answer(shape, plan, std::get<protocol::Ran>(answer).outputs, result);
    if (wrong.empty()) return std::nullopt;
    return Failure{Verdict::wrong_answer, std::move(wrong)};
  }

  /// The kernels that the program has, and what its launches want of them.
  std::optional<Failure> why_not_launched(const Family& family, const Binary& binary, const Plan& plan,
                                          FamilyCheck& of_family) const {
    const std::unique_ptr<vgpu::VirtualGpu> gpu = vgpu::make_device(request_.device);
    std::optional<Failure> failure;
    const std::unique_ptr<Module> module = gpu->load(binary, failure);
    if (failure) return failure;
    const std::vector<std::string> kernels = gpu->kernels(*module);
    of_family.kernels.clear();
    for (const std::string& kernel : kernels) of_family.kernels.push_back(list_of_kernels({&kernel, 1}));
    for (std::string& zero : unfilled_constants(binary, plan))
      if (std::ranges::find(of_family.zero_constants, zero) == of_family.zero_constants.end())
        of_family.zero_constants.push_back(std::move(zero));
    const std::vector<std::string> wrong = wrong_arguments(binary, plan, family);
    for (const std::string& line : wrong) {
      std::string placed = request_.placed(line);
      if (std::ranges::find(of_family.arguments, placed) == of_family.arguments.end())
        of_family.arguments.push_back(std::move(placed));
    }
    if (wrong.empty()) return std::nullopt;
    return Failure{Verdict::launch_failed, wrong.front()};
  }

  std::string why_wrong_answer(const CheckedShape& shape, const Plan& plan, std::span<const std::byte> outputs,
                               ShapeCheck& result) const {
    const Target& target = shape.target;
    const auto limits = [&](const Tensor& output) {
      return limits_of_output(task_, output, target.options, limits_of(task_, target));
    };
    std::string problem;
    for (const ComparedOutput& output : compare_outputs(task_, target.options, shape.one, plan, *shape.expected,
                                                        {outputs.begin(), outputs.end()}, limits)) {
      result.outputs.push_back({output.name, output.difference.relative_l2, output.limits});
      const auto miss = miss_of(output.difference, output.limits);
      if (miss && problem.empty()) problem = fmt::format("wrong answer: {}: {}", output.name, miss_text(*miss));
    }
    if (problem.empty()) result.reached = Reached::right;
    return problem;
  }

  /// What the kernels print. Only a program with printf is run once more for it.
  std::string printed_by(const Binary& binary, const Plan& plan, const CaseRecipe& recipe) const {
    if (binary.ptx.find("vprintf") == std::string::npos) return {};
    const std::unique_ptr<vgpu::VirtualGpu> gpu = vgpu::make_device(request_.device);
    std::optional<Failure> failure;
    const std::unique_ptr<Module> module = gpu->load(binary, failure);
    if (failure) return {};
    const PristineInputs inputs(*gpu, recipe, guard_bytes_for(gpu->info()));
    BufferSet buffers(*gpu, plan.tensors);
    if (buffers.attach_workspaces(plan.workspaces)) return {};
    buffers.prepare(inputs, 0, 0);
    if (gpu->fill_constants(*module, plan, buffers.addresses())) return {};
    std::string printed;
    for (const Launch& launch : plan.launches) {
      std::vector<std::vector<std::byte>> arguments;
      for (const Argument& argument : launch.arguments) {
        if (argument.kind == Argument::Kind::tensor_map) return printed;
        arguments.push_back(bytes_of_argument(argument, buffers.addresses()));
      }
      vgpu::KernelRun run;
      failure = gpu->run_kernel(*module, launch, arguments, run);
      printed += run.printed;
      if (failure) break;
    }
    return printed;
  }

  static std::vector<std::byte> bytes_of_argument(const Argument& argument, const Buffers& buffers) {
    if (argument.kind == Argument::Kind::value) return bytes_of(argument.fields);
    const DeviceAddress address = argument.kind == Argument::Kind::tensor ? buffers.tensors.at(argument.index)
                                                                          : buffers.workspaces.at(argument.index);
    return bytes_of({{{DType::u64, 1}, {address}}});
  }

  const SourceTree& tree_;
  const Task& task_;
  const CheckRequest& request_;
  CompileWorker compiler_;
  using Names = std::vector<std::string>;
  std::map<std::tuple<std::string, int, Names, Names>, std::variant<Binary, Failure>> compiled_;
};

}  // namespace

bool FamilyCheck::fine() const {
  return unused_genes.empty() && arguments.empty() && zero_constants.empty() && regimes.wrong.empty() &&
         std::ranges::all_of(shapes, &ShapeCheck::fine);
}

bool TaskCheck::fine() const {
  const bool any = std::ranges::any_of(families, [](const FamilyCheck& family) { return !family.shapes.empty(); });
  return any && reference.empty() && std::ranges::all_of(families, &FamilyCheck::fine);
}

TaskCheck check_task(const SourceTree& tree, const Task& task, const CheckRequest& request) {
  return Checker(tree, task, request).check();
}

}  // namespace evo::cli
