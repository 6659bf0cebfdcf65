#include "evaluator/worker/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "evaluator/compile/ptx_text.h"

namespace evo::protocol {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "frames are little-endian");

constexpr std::uint32_t kMagic = 0x314F5645;  // "EVO1"

// ---- Reading with every type and size checked. nlohmann's get<T> converts silently; these do not.

const json& field(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw ProtocolError(fmt::format("field {} is missing", key));
  return *found;
}

template <typename T>
T integer(const json& object, const char* key) {
  const json& value = field(object, key);
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number <= static_cast<std::uint64_t>(std::numeric_limits<T>::max())) return static_cast<T>(number);
  } else if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    if (std::numeric_limits<T>::is_signed && number >= static_cast<std::int64_t>(std::numeric_limits<T>::min())) {
      return static_cast<T>(number);
    }
  }
  throw ProtocolError(fmt::format("field {} is no integer within its range", key));
}

double number(const json& object, const char* key) {
  const json& value = field(object, key);
  if (!value.is_number()) throw ProtocolError(fmt::format("field {} is no number", key));
  return value.get<double>();
}

bool boolean(const json& object, const char* key) {
  const json& value = field(object, key);
  if (!value.is_boolean()) throw ProtocolError(fmt::format("field {} is no boolean", key));
  return value.get<bool>();
}

std::string text(const json& object, const char* key) {
  const json& value = field(object, key);
  if (!value.is_string()) throw ProtocolError(fmt::format("field {} is no text", key));
  return value.get<std::string>();
}

const json& array(const json& object, const char* key) {
  const json& value = field(object, key);
  if (!value.is_array()) throw ProtocolError(fmt::format("field {} is no list", key));
  return value;
}

std::vector<bool> flags(const json& object, const char* key) {
  std::vector<bool> all;
  for (const json& flag : array(object, key)) {
    if (!flag.is_boolean()) throw ProtocolError(fmt::format("field {} is no list of booleans", key));
    all.push_back(flag.get<bool>());
  }
  return all;
}

/// Lists of numbers travel as arrays; `element` reads one through a wrapper object so that errors name the key.
template <typename T>
std::vector<T> integers(const json& object, const char* key) {
  std::vector<T> values;
  for (const json& item : array(object, key)) values.push_back(integer<T>(json{{key, item}}, key));
  return values;
}

template <typename Enum>
Enum enumerator(const json& object, const char* key, Enum last) {
  const auto value = integer<std::uint32_t>(object, key);
  if (value > static_cast<std::uint32_t>(last)) throw ProtocolError(fmt::format("field {} has no such value", key));
  return static_cast<Enum>(value);
}

template <typename Enum>
std::uint32_t code(Enum value) {
  return static_cast<std::uint32_t>(value);
}

DType dtype_from(const json& object) {
  return enumerator(object, "dtype", DType::f64);
}

// ---- Plans

json write(const Dim3& dims) {
  return json::array({dims[0], dims[1], dims[2]});
}

Dim3 read_dim3(const json& object, const char* key) {
  const auto values = integers<std::uint32_t>(object, key);
  if (values.size() != 3) throw ProtocolError(fmt::format("field {} has not three numbers", key));
  return {values[0], values[1], values[2]};
}

/// Doubles travel as their bits.
json write(const Number& number) {
  if (const double* real = std::get_if<double>(&number)) return std::bit_cast<std::uint64_t>(*real);
  return std::visit([](auto held) { return json(held); }, number);
}

Number read_number(const json& from, DType dtype) {
  const json object{{"component", from}};
  if (is_floating(dtype)) return std::bit_cast<double>(integer<std::uint64_t>(object, "component"));
  const bool large = from.is_number_unsigned() && from.get<std::uint64_t>() > std::uint64_t{INT64_MAX};
  return large ? Number(from.get<std::uint64_t>()) : Number(integer<std::int64_t>(object, "component"));
}

json write(const Scalar& scalar) {
  json components = json::array();
  for (const Number& component : scalar.components) components.push_back(write(component));
  return {{"dtype", code(scalar.type.element)}, {"components", components}};
}

json write(const Argument& argument) {
  json fields = json::array();
  for (const Scalar& field : argument.fields) fields.push_back(write(field));
  return {{"kind", code(argument.kind)}, {"index", argument.index}, {"fields", fields}};
}

Scalar read_scalar(const json& from) {
  Scalar scalar;
  scalar.type = {dtype_from(from), array(from, "components").size()};
  if (scalar.type.components < 1 || scalar.type.components > 4 || bits_of(scalar.type.element) < 8)
    throw ProtocolError("a scalar of no such type");
  for (const json& component : array(from, "components")) {
    scalar.components.push_back(read_number(component, scalar.type.element));
    if (!why_not_held(scalar.type.element, scalar.components.back()).empty())
      throw ProtocolError("a scalar that its type does not hold");
  }
  return scalar;
}

Argument read_argument(const json& from) {
  Argument argument;
  argument.kind = enumerator(from, "kind", Argument::Kind::value);
  argument.index = integer<std::size_t>(from, "index");
  for (const json& field : array(from, "fields")) argument.fields.push_back(read_scalar(field));
  return argument;
}

json write(const Launch& launch) {
  json arguments = json::array();
  for (const Argument& argument : launch.arguments) arguments.push_back(write(argument));
  return {{"kernel", launch.kernel},
          {"grid", write(launch.grid)},
          {"block", write(launch.block)},
          {"cluster", write(launch.cluster)},
          {"smem", launch.dynamic_smem_bytes},
          {"programmatic", launch.programmatic},
          {"arguments", arguments}};
}

Launch read_launch(const json& from) {
  Launch launch;
  launch.kernel = text(from, "kernel");
  launch.grid = read_dim3(from, "grid");
  launch.block = read_dim3(from, "block");
  launch.cluster = read_dim3(from, "cluster");
  launch.dynamic_smem_bytes = integer<std::uint32_t>(from, "smem");
  launch.programmatic = boolean(from, "programmatic");
  for (const json& argument : array(from, "arguments")) launch.arguments.push_back(read_argument(argument));
  return launch;
}

json write(const TensorMap& map) {
  return {{"name", map.name}, {"source", write(map.source)},  {"dtype", code(map.dtype)},    {"dims", map.dims},
          {"box", map.box},   {"strides", map.strides_bytes}, {"swizzle", map.swizzle_bytes}};
}

TensorMap read_tensor_map(const json& from) {
  TensorMap map;
  map.name = text(from, "name");
  map.source = read_argument(field(from, "source"));
  map.dtype = dtype_from(from);
  map.dims = integers<std::uint64_t>(from, "dims");
  map.strides_bytes = integers<std::uint64_t>(from, "strides");
  map.box = integers<std::uint32_t>(from, "box");
  map.swizzle_bytes = integer<std::uint32_t>(from, "swizzle");
  return map;
}

json write(const Plan& plan) {
  json tensors = json::array(), workspaces = json::array(), maps = json::array(), constants = json::array(),
       launches = json::array();
  for (const PlanTensor& tensor : plan.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"dtype", code(tensor.dtype)},
                       {"bytes", tensor.bytes},
                       {"output", tensor.output},
                       {"inout", tensor.inout},
                       {"dims", tensor.dims},
                       {"strides", tensor.strides}});
  }
  for (const Workspace& workspace : plan.workspaces) {
    workspaces.push_back({{"name", workspace.name}, {"bytes", workspace.bytes}, {"zeroed", workspace.zeroed}});
  }
  for (const TensorMap& map : plan.tensor_maps) maps.push_back(write(map));
  for (const Launch& launch : plan.launches) launches.push_back(write(launch));
  for (const Constant& constant : plan.constants)
    constants.push_back({{"symbol", constant.symbol}, {"source", write(constant.source)}});
  return {{"tensors", tensors},
          {"workspaces", workspaces},
          {"maps", maps},
          {"constants", constants},
          {"launches", launches}};
}

/// Strides that leave the tensor would let a layout be read out of bounds.
PlanTensor read_plan_tensor(const json& from) {
  PlanTensor tensor;
  tensor.name = text(from, "name");
  tensor.dtype = dtype_from(from);
  tensor.bytes = integer<std::uint64_t>(from, "bytes");
  tensor.output = boolean(from, "output");
  tensor.inout = boolean(from, "inout");
  tensor.dims = integers<std::uint64_t>(from, "dims");
  tensor.strides = integers<std::uint64_t>(from, "strides");
  if (tensor.dims.size() != tensor.strides.size()) throw ProtocolError("a tensor with other strides than dims");
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < tensor.dims.size(); ++i) {
    std::uint64_t step = 0;
    if (tensor.dims[i] == 0 || __builtin_mul_overflow(tensor.dims[i] - 1, tensor.strides[i], &step) ||
        __builtin_add_overflow(last, step, &last)) {
      throw ProtocolError("a tensor with impossible dims");
    }
  }
  if (!tensor.dims.empty() && (bits_of(tensor.dtype) < 8 || last >= tensor.bytes / size_of(tensor.dtype)))
    throw ProtocolError("a tensor whose strides leave it");
  return tensor;
}

Constant read_constant(const json& from, const Plan& plan) {
  Constant constant{text(from, "symbol"), read_argument(field(from, "source"))};
  if (!is_variable_name(constant.symbol)) throw ProtocolError("a constant without the name of a variable");
  const bool tensor = constant.source.kind == Argument::Kind::tensor && constant.source.index < plan.tensors.size();
  if (!tensor && constant.source.kind != Argument::Kind::value)
    throw ProtocolError("a constant that neither a tensor nor a value fills");
  return constant;
}

Plan read_plan(const json& from) {
  Plan plan;
  for (const json& tensor : array(from, "tensors")) {
    plan.tensors.push_back(read_plan_tensor(tensor));
  }
  for (const json& workspace : array(from, "workspaces")) {
    plan.workspaces.push_back(
        {text(workspace, "name"), integer<std::uint64_t>(workspace, "bytes"), boolean(workspace, "zeroed")});
  }
  for (const json& map : array(from, "maps")) plan.tensor_maps.push_back(read_tensor_map(map));
  for (const json& constant : array(from, "constants")) plan.constants.push_back(read_constant(constant, plan));
  for (const json& launch : array(from, "launches")) plan.launches.push_back(read_launch(launch));
  return plan;
}

json write(const std::map<std::string, Plan>& plans) {
  json by_shape = json::object();
  for (const auto& [shape, plan] : plans) by_shape[shape] = write(plan);
  return by_shape;
}

std::map<std::string, Plan> read_plans(const json& object) {
  const json& from = field(object, "plans");
  if (!from.is_object()) throw ProtocolError("field plans is no map");
  std::map<std::string, Plan> plans;
  for (const auto& [shape, plan] : from.items()) plans[shape] = read_plan(plan);
  return plans;
}

// ---- Inputs

/// A double is told from an integer by its wrapper: the draw decides what it means.
json write(const std::vector<Number>& numbers) {
  json list = json::array();
  for (const Number& number : numbers) {
    const bool real = std::holds_alternative<double>(number);
    list.push_back(real ? json{{"real", write(number)}} : json{{"whole", write(number)}});
  }
  return list;
}

std::vector<Number> read_numbers(const json& from, const char* key) {
  std::vector<Number> numbers;
  for (const json& item : array(from, key)) {
    const bool real = item.is_object() && item.contains("real");
    numbers.push_back(read_number(field(item, real ? "real" : "whole"), real ? DType::f64 : DType::u64));
  }
  return numbers;
}

std::string hex_of(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string read_hex(const json& from, const char* key) {
  const std::string digits = text(from, key);
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const auto byte = number_in<unsigned>(std::string_view(digits).substr(i, 2), 16);
    if (!byte || i + 2 > digits.size()) throw ProtocolError(fmt::format("field {} is not hexadecimal", key));
    bytes += static_cast<char>(*byte);
  }
  return bytes;
}

json write(const CaseRecipe& recipe) {
  json inputs = json::array();
  for (const InputRecipe& input : recipe.inputs) {
    inputs.push_back({{"name", input.name},
                      {"dtype", code(input.dtype)},
                      {"elements", input.elements},
                      {"row", input.row},
                      {"matrix", input.matrix},
                      {"group", input.group},
                      {"distribution", code(input.distribution)},
                      {"gain", input.gain},
                      {"unit_scale", input.unit_scale},
                      {"stream", input.stream},
                      {"scale", input.scale ? json(*input.scale) : json()},
                      {"zero_point", input.zero_point ? json(*input.zero_point) : json()},
                      {"is_computed", input.is_computed},
                      {"widened", input.widened ? json(code(*input.widened)) : json()},
                      {"draw", code(input.draw)},
                      {"numbers", write(input.numbers)},
                      {"content", hex_of(input.content)},
                      {"dims", input.dims},
                      {"scale_dims", input.scale_dims},
                      {"strides", input.strides}});
  }
  return {{"seed", recipe.seed}, {"inputs", inputs}, {"repeating", recipe.repeating}, {"perturbed", recipe.perturbed}};
}

/// An absent input has no elements.
void check_sizes(const InputRecipe& input) {
  const auto divides = [&](std::uint64_t part) { return part > 0 && input.elements % part == 0; };
  const auto positive = [](std::uint64_t size) { return size > 0; };
  const bool bare = input.elements == 0 && !input.scale && input.dims.empty() && input.strides.empty();
  bool sound = bare || (input.elements > 0 && divides(input.row) && divides(input.matrix) && input.group > 0 &&
                        input.matrix % input.row == 0);
  if (!input.dims.empty()) {
    std::uint64_t product = 1;
    for (const std::uint64_t dim : input.dims) sound = sound && !__builtin_mul_overflow(product, dim, &product);
    sound = sound && product == input.elements;
  }
  if (input.scale) {
    sound = sound && input.scale_dims.size() == input.dims.size() && !input.dims.empty();
    for (std::size_t i = 0; sound && i < input.dims.size(); ++i)
      sound = input.scale_dims[i] > 0 && input.scale_dims[i] <= input.dims[i];
  }
  sound = sound && std::ranges::all_of(input.dims, positive) && input.strides.size() <= input.dims.size();
  if (!sound) throw ProtocolError("input " + input.name + " has impossible sizes");
}

InputRecipe read_input(const json& from, std::size_t inputs) {
  InputRecipe input;
  input.name = text(from, "name");
  input.dtype = dtype_from(from);
  input.elements = integer<std::uint64_t>(from, "elements");
  input.row = integer<std::uint64_t>(from, "row");
  input.matrix = integer<std::uint64_t>(from, "matrix");
  input.group = integer<std::uint64_t>(from, "group");
  input.distribution = enumerator(from, "distribution", Distribution::ties);
  input.gain = number(from, "gain");
  input.unit_scale = boolean(from, "unit_scale");
  input.stream = integer<std::uint64_t>(from, "stream");
  input.is_computed = boolean(from, "is_computed");
  for (const auto& [key, index] : {std::pair("scale", &input.scale), std::pair("zero_point", &input.zero_point)}) {
    if (field(from, key).is_null()) continue;
    *index = integer<std::uint32_t>(from, key);
    if (**index >= inputs) throw ProtocolError(fmt::format("field {} names no input", key));
  }
  if (!field(from, "widened").is_null()) input.widened = enumerator(from, "widened", DType::f64);
  input.draw = enumerator(from, "draw", DrawKind::file);
  input.numbers = read_numbers(from, "numbers");
  input.content = read_hex(from, "content");
  input.dims = integers<std::uint64_t>(from, "dims");
  input.scale_dims = integers<std::uint64_t>(from, "scale_dims");
  input.strides = integers<std::uint64_t>(from, "strides");
  check_sizes(input);
  return input;
}

CaseRecipe read_recipe(const json& from) {
  CaseRecipe recipe;
  recipe.seed = integer<std::uint64_t>(from, "seed");
  recipe.repeating = boolean(from, "repeating");
  recipe.perturbed = boolean(from, "perturbed");
  const json& inputs = array(from, "inputs");
  for (const json& input : inputs) recipe.inputs.push_back(read_input(input, inputs.size()));
  for (const InputRecipe& input : recipe.inputs) {
    std::uint64_t groups = 1;
    for (const std::uint64_t dim : input.scale_dims) groups *= dim;
    for (const auto& index : {input.scale, input.zero_point}) {
      if (index && recipe.inputs[*index].elements != groups)
        throw ProtocolError("input " + input.name + " has not as many groups as scales or zero points");
    }
  }
  return recipe;
}

// ---- Binaries, failures, timings

/// Its cubin and its PTX become the payload: in the control text they would be read byte by byte.
json write(const Binary& binary, std::vector<std::byte>& payload) {
  const auto ptx = std::as_bytes(std::span(binary.ptx));
  payload.reserve(binary.cubin.size() + ptx.size());
  payload = binary.cubin;
  payload.insert(payload.end(), ptx.begin(), ptx.end());
  const Build& build = binary.build;
  return {{"arch", binary.arch},
          {"cubin_bytes", binary.cubin.size()},
          {"specialisation", build.specialisation},
          {"build_arch", build.arch},
          {"registers", build.registers},
          {"spill_bytes", build.spill_bytes},
          {"static_smem_bytes", build.static_smem_bytes},
          {"stack_bytes", build.stack_bytes},
          {"cubin_hash", build.cubin_hash},
          {"log", build.log},
          {"compile_ms", build.compile_ms},
          {"flags", build.flags},
          {"kernels", build.kernels},
          {"variables", build.variables}};
}

/// Names in PTX go to the driver.
std::map<std::string, std::string> read_ptx_names(const json& object, const char* key) {
  const json& from = field(object, key);
  if (!from.is_object()) throw ProtocolError(fmt::format("field {} is no map", key));
  std::map<std::string, std::string> names;
  for (const auto& [name, ptx_name] : from.items()) {
    if (!ptx_name.is_string()) throw ProtocolError(fmt::format("field {} has a name that is no text", key));
    const auto& known = names[name] = ptx_name.get<std::string>();
    if (known.empty() || !std::ranges::all_of(known, ptx_text::is_name_character))
      throw ProtocolError(fmt::format("field {} has a name that is none of PTX", key));
  }
  return names;
}

Binary read_binary(const json& object, std::span<const std::byte> payload) {
  const json& from = field(object, "binary");
  Binary binary;
  binary.arch = text(from, "arch");
  const auto cubin_bytes = integer<std::uint64_t>(from, "cubin_bytes");
  if (cubin_bytes > payload.size()) throw ProtocolError("field cubin_bytes is larger than the payload");
  const auto cubin = payload.first(cubin_bytes), ptx = payload.subspan(cubin_bytes);
  binary.cubin.assign(cubin.begin(), cubin.end());
  binary.ptx.assign(reinterpret_cast<const char*>(ptx.data()), ptx.size());
  binary.build.specialisation = text(from, "specialisation");
  binary.build.arch = text(from, "build_arch");
  binary.build.registers = integer<int>(from, "registers");
  binary.build.spill_bytes = integer<int>(from, "spill_bytes");
  binary.build.static_smem_bytes = integer<int>(from, "static_smem_bytes");
  binary.build.stack_bytes = integer<int>(from, "stack_bytes");
  binary.build.cubin_hash = text(from, "cubin_hash");
  binary.build.log = text(from, "log");
  binary.build.compile_ms = number(from, "compile_ms");
  binary.build.flags = text(from, "flags");
  binary.build.kernels = read_ptx_names(from, "kernels");
  binary.build.variables = read_ptx_names(from, "variables");
  return binary;
}

json write(const Failure& failure) {
  return {{"verdict", code(failure.verdict)},
          {"reason", failure.reason},
          {"device_lost", failure.device_lost},
          {"log", failure.log}};
}

Failure read_failure(const json& from) {
  Failure failure;
  failure.verdict = enumerator(from, "verdict", Verdict::harness_failed);
  // A wrong worker could otherwise make a candidate valid.
  if (failure.verdict == Verdict::valid) throw ProtocolError("a failure cannot be valid");
  failure.reason = text(from, "reason");
  failure.device_lost = boolean(from, "device_lost");
  failure.log = text(from, "log");
  return failure;
}

json write(const TimingRequest& timing) {
  return {{"cold", timing.cold},
          {"min_samples", timing.min_samples},
          {"max_samples", timing.max_samples},
          {"min_seconds", timing.min_seconds},
          {"full_clock_seconds", timing.full_clock_seconds},
          {"max_seconds", timing.max_seconds},
          {"warm_up_seconds", timing.warm_up_seconds},
          {"relative_interval", timing.relative_interval},
          {"hopeless_us", timing.hopeless_us},
          {"to_beat_us", timing.to_beat_us}};
}

TimingRequest read_timing_request(const json& object) {
  const json& from = field(object, "timing");
  TimingRequest timing;
  timing.cold = boolean(from, "cold");
  timing.min_samples = integer<int>(from, "min_samples");
  timing.max_samples = integer<int>(from, "max_samples");
  timing.min_seconds = number(from, "min_seconds");
  timing.full_clock_seconds = number(from, "full_clock_seconds");
  timing.max_seconds = number(from, "max_seconds");
  timing.warm_up_seconds = number(from, "warm_up_seconds");
  timing.relative_interval = number(from, "relative_interval");
  timing.hopeless_us = number(from, "hopeless_us");
  timing.to_beat_us = number(from, "to_beat_us");
  return timing;
}

json write(const Timing& timing) {
  return {{"modelled", timing.modelled},
          {"cold", timing.cold},
          {"median_us", timing.median_us},
          {"low_us", timing.low_us},
          {"high_us", timing.high_us},
          {"throttled", timing.throttled},
          {"samples_us", timing.samples_us},
          {"sm_mhz_low", timing.conditions.sm_mhz_low},
          {"sm_mhz_high", timing.conditions.sm_mhz_high},
          {"memory_mhz", timing.conditions.memory_mhz},
          {"other_processes", timing.conditions.other_processes},
          {"power_limited", timing.conditions.power_limited},
          {"temperature_c", timing.conditions.temperature_c}};
}

Timing read_timing(const json& object) {
  const json& from = field(object, "timing");
  Timing timing;
  timing.modelled = boolean(from, "modelled");
  timing.cold = boolean(from, "cold");
  timing.median_us = number(from, "median_us");
  timing.low_us = number(from, "low_us");
  timing.high_us = number(from, "high_us");
  timing.throttled = integer<int>(from, "throttled");
  for (const json& sample : array(from, "samples_us")) {
    if (!sample.is_number()) throw ProtocolError("a sample is no number");
    timing.samples_us.push_back(sample.get<double>());
  }
  timing.conditions.sm_mhz_low = integer<int>(from, "sm_mhz_low");
  timing.conditions.sm_mhz_high = integer<int>(from, "sm_mhz_high");
  timing.conditions.memory_mhz = integer<int>(from, "memory_mhz");
  timing.conditions.other_processes = integer<int>(from, "other_processes");
  timing.conditions.power_limited = boolean(from, "power_limited");
  timing.conditions.temperature_c = integer<int>(from, "temperature_c");
  return timing;
}

// ---- Messages: one writer and one reader for each kind, in the order of the variants.

constexpr std::array kRequestKinds = {"compile", "load", "unload", "run", "time", "counters", "model"};
constexpr std::array kReplyKinds = {"ready", "started",  "compiled", "done",   "ran",
                                    "timed", "profiled", "modelled", "failed", "broken"};
static_assert(kRequestKinds.size() == std::variant_size_v<Request>);
static_assert(kReplyKinds.size() == std::variant_size_v<Reply>);

json write(const Compile& request) {
  return {{"source", request.source},
          {"arch", request.arch},
          {"max_registers", request.max_registers},
          {"kernels", request.kernels},
          {"variables", request.variables}};
}

Compile read_compile(const json& from) {
  Compile request{text(from, "source"), text(from, "arch"), integer<std::int32_t>(from, "max_registers")};
  for (const json& kernel : array(from, "kernels")) {
    if (!kernel.is_string() || !is_kernel_name(kernel.get_ref<const std::string&>()))
      throw ProtocolError("field kernels is no list of names");
    request.kernels.push_back(kernel.get<std::string>());
  }
  for (const json& variable : array(from, "variables")) {
    if (!variable.is_string() || !is_variable_name(variable.get_ref<const std::string&>()))
      throw ProtocolError("field variables is no list of names");
    request.variables.push_back(variable.get<std::string>());
  }
  return request;
}

json write(const std::vector<LaunchProfile>& launches) {
  json list = json::array();
  for (const LaunchProfile& launch : launches) list.push_back({{"kernel", launch.kernel}, {"values", launch.values}});
  return list;
}

CounterValues read_values(const json& from) {
  const json& values = field(from, "values");
  if (!values.is_object()) throw ProtocolError("field values is no object");
  CounterValues read;
  for (const auto& [metric, value] : values.items()) read[metric] = number(values, metric.c_str());
  return read;
}

std::vector<LaunchProfile> read_launches(const json& from) {
  std::vector<LaunchProfile> launches;
  for (const json& launch : array(from, "launches")) launches.push_back({text(launch, "kernel"), read_values(launch)});
  return launches;
}

/// Moves bulk data into the frame's payload.
struct RequestWriter {
  Frame& frame;
  json operator()(const Compile& request) const { return write(request); }
  json operator()(const Load& request) const {
    return {
        {"module", request.module}, {"binary", write(request.binary, frame.payload)}, {"plans", write(request.plans)}};
  }
  json operator()(const Unload& request) const { return {{"module", request.module}}; }
  json operator()(const Run& request) const {
    return {{"module", request.module},
            {"shape", request.shape},
            {"recipe", request.sends_recipe ? write(request.recipe) : json()},
            {"repeats", request.repeats},
            {"sanitised", request.sanitised},
            {"case", request.case_name}};
  }
  json operator()(const Time& request) const {
    json rotation = json::array();
    for (const CaseRecipe& recipe : request.rotation) rotation.push_back(write(recipe));
    return {{"module", request.module},     {"shape", request.shape},
            {"rotation", rotation},         {"timing", write(request.timing)},
            {"answered", request.answered}, {"afterwards", request.afterwards ? write(*request.afterwards) : json()}};
  }
  json operator()(const ReadCounters& request) const {
    return {{"module", request.module}, {"shape", request.shape}, {"recipe", write(request.recipe)}};
  }
  json operator()(const Model& request) const {
    return {{"compile", write(request.compile)}, {"plan", write(request.plan)}, {"recipe", write(request.recipe)}};
  }
};

Request read_request(std::string_view kind, const json& from, std::span<const std::byte> payload) {
  if (kind == "load") return Load{integer<std::uint64_t>(from, "module"), read_binary(from, payload), read_plans(from)};
  if (!payload.empty()) throw ProtocolError(fmt::format("a request {} has no payload", kind));
  if (kind == "compile") return read_compile(from);
  if (kind == "unload") return Unload{integer<std::uint64_t>(from, "module")};
  if (kind == "run") {
    Run request{integer<std::uint64_t>(from, "module"),  text(from, "shape"),        {},
                integer<std::uint32_t>(from, "repeats"), boolean(from, "sanitised"), text(from, "case")};
    const json& recipe = field(from, "recipe");
    request.sends_recipe = !recipe.is_null();
    if (request.sends_recipe) request.recipe = read_recipe(recipe);
    return request;
  }
  if (kind == "time") {
    Time request{integer<std::uint64_t>(from, "module"), text(from, "shape"), {}, read_timing_request(from)};
    if (const json& other = field(from, "afterwards"); !other.is_null()) request.afterwards = read_recipe(other);
    request.answered = boolean(from, "answered");
    for (const json& recipe : array(from, "rotation")) request.rotation.push_back(read_recipe(recipe));
    return request;
  }
  if (kind == "counters")
    return ReadCounters{integer<std::uint64_t>(from, "module"), text(from, "shape"),
                        read_recipe(field(from, "recipe"))};
  if (kind == "model")
    return Model{read_compile(field(from, "compile")), read_plan(field(from, "plan")),
                 read_recipe(field(from, "recipe"))};
  throw ProtocolError(fmt::format("unknown request {}", kind));
}

/// The same for replies.
struct ReplyWriter {
  Frame& frame;
  json operator()(Ready& reply) const { return {{"what", reply.what}, {"at_once", reply.at_once}}; }
  json operator()(Started&) const { return json::object(); }
  json operator()(Compiled& reply) const { return {{"binary", write(reply.binary, frame.payload)}}; }
  json operator()(Done&) const { return json::object(); }
  json operator()(Ran& reply) const {
    frame.payload = std::move(reply.outputs);
    return {{"unrepeatable", reply.unrepeatable ? write(*reply.unrepeatable) : json()}};
  }
  json operator()(Timed& reply) const {
    frame.payload = std::move(reply.outputs);
    return {{"timing", write(reply.timing)}, {"as_before", reply.as_before}};
  }
  json operator()(Profiled& reply) const { return {{"launches", write(reply.launches)}}; }
  json operator()(Modelled& reply) const {
    return {{"binary", write(reply.binary, frame.payload)},
            {"launches", write(reply.launches)},
            {"failure", reply.failure ? write(*reply.failure) : json()}};
  }
  json operator()(Failed& reply) const { return {{"failure", write(reply.failure)}}; }
  json operator()(Broken& reply) const { return {{"message", reply.message}}; }
};

Reply read_reply(std::string_view kind, const json& from, std::vector<std::byte>& payload) {
  if (kind == "ready") return Ready{text(from, "what"), integer<std::uint32_t>(from, "at_once")};
  if (kind == "started") return Started{};
  if (kind == "compiled") return Compiled{read_binary(from, payload)};
  if (kind == "done") return Done{};
  if (kind == "ran") {
    Ran ran{std::move(payload), std::nullopt};
    if (const json& other = field(from, "unrepeatable"); !other.is_null()) ran.unrepeatable = read_failure(other);
    return ran;
  }
  if (kind == "timed") return Timed{read_timing(from), flags(from, "as_before"), std::move(payload)};
  if (kind == "profiled") return Profiled{read_launches(from)};
  if (kind == "modelled") {
    Modelled modelled{read_binary(from, payload), read_launches(from)};
    if (const json& failure = field(from, "failure"); !failure.is_null()) modelled.failure = read_failure(failure);
    return modelled;
  }
  if (kind == "failed") return Failed{read_failure(field(from, "failure"))};
  if (kind == "broken") return Broken{text(from, "message")};
  throw ProtocolError(fmt::format("unknown reply {}", kind));
}

/// Stops at the first value nested deeper than any message is: the parser calls itself for each level.
class DepthGuard final : public json::json_sax_t {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ <= kMaxDepth; }
  bool start_array(std::size_t) override { return ++depth_ <= kMaxDepth; }
  bool end_object() override { return --depth_ >= 0; }
  bool end_array() override { return --depth_ >= 0; }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override { return false; }

 private:
  static constexpr int kMaxDepth = 16;
  int depth_ = 0;
};

json parse(const Frame& frame) {
  DepthGuard guard;
  if (!json::sax_parse(frame.control, &guard, json::input_format_t::cbor))
    throw ProtocolError("not CBOR, or nested too deeply");
  json control;
  try {
    control = json::from_cbor(frame.control);
  } catch (const json::exception& error) {
    throw ProtocolError(fmt::format("not CBOR: {}", error.what()));
  }
  if (!control.is_object()) throw ProtocolError("a message is not a map");
  return control;
}

}  // namespace

Frame encode(const RequestMessage& message) {
  Frame frame;
  json control = {{"id", message.id}, {"kind", kRequestKinds[message.request.index()]}};
  control["body"] = std::visit(RequestWriter{frame}, message.request);
  frame.control = json::to_cbor(control);
  return frame;
}

Frame encode(ReplyMessage message) {
  Frame frame;
  json control = {{"id", message.id}, {"kind", kReplyKinds[message.reply.index()]}};
  control["body"] = std::visit(ReplyWriter{frame}, message.reply);
  frame.control = json::to_cbor(control);
  return frame;
}

RequestMessage decode_request(const Frame& frame) {
  const json control = parse(frame);
  return {integer<std::uint64_t>(control, "id"),
          read_request(text(control, "kind"), field(control, "body"), frame.payload)};
}

ReplyMessage decode_reply(Frame frame) {
  const json control = parse(frame);
  ReplyMessage message;
  message.id = integer<std::uint64_t>(control, "id");
  message.reply = read_reply(text(control, "kind"), field(control, "body"), frame.payload);
  return message;
}

Compile compile_request(const Program& program, const std::string& arch) {
  return {program.source, arch, program.max_registers, kernels_of(program), variables_of(program)};
}

std::array<std::uint8_t, kHeaderBytes> encode_header(const FrameSizes& sizes) {
  std::array<std::uint8_t, kHeaderBytes> bytes{};
  std::memcpy(bytes.data(), &kMagic, 4);
  std::memcpy(bytes.data() + 4, &sizes.control, 4);
  std::memcpy(bytes.data() + 8, &sizes.payload, 8);
  return bytes;
}

FrameSizes decode_header(std::span<const std::uint8_t, kHeaderBytes> bytes, std::uint64_t max_payload) {
  std::uint32_t magic = 0;
  FrameSizes sizes;
  std::memcpy(&magic, bytes.data(), 4);
  std::memcpy(&sizes.control, bytes.data() + 4, 4);
  std::memcpy(&sizes.payload, bytes.data() + 8, 8);
  if (magic != kMagic) throw ProtocolError("not a frame");
  if (sizes.control > kMaxControlBytes || sizes.payload > max_payload) {
    throw ProtocolError(fmt::format("a frame of {} + {} bytes is too large", sizes.control, sizes.payload));
  }
  return sizes;
}

std::uint64_t output_bytes(const Plan& plan) {
  std::uint64_t bytes = 0;
  for (const PlanTensor& tensor : plan.tensors) bytes += tensor.output ? tensor.bytes : 0;
  return bytes;
}

std::string complaint_of(const Reply& reply) {
  const auto* broken = std::get_if<Broken>(&reply);
  return broken != nullptr ? broken->message : "the worker gave an answer of the wrong kind";
}

}  // namespace evo::protocol
