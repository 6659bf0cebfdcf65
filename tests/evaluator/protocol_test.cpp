#include "evaluator/worker/protocol.h"

#include <array>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "engine/base/rng.h"
#include "engine/record/enumerators.h"
#include "evaluator/pipeline/gates.h"

using namespace evo;
using namespace evo::protocol;
using nlohmann::json;

namespace {

Plan sample_plan() {
  Plan plan;
  plan.tensors = {{"q", DType::e4m3, 4096, false}, {"o", DType::bf16, 8192, true}};
  plan.workspaces = {{"partial", 1 << 20, true}};
  plan.tensor_maps = {{"q_map", {Argument::Kind::tensor, 0}, DType::u8, {64, 64}, {64}, {64, 32}, 128}};
  plan.constants = {{"d_q", {Argument::Kind::tensor, 0}}, {"ns::rows", Argument::of_int(5)}};
  Launch launch;
  launch.kernel = "attention";
  launch.grid = {4, 8, 2};
  launch.block = {128, 1, 1};
  launch.cluster = {2, 1, 1};
  launch.dynamic_smem_bytes = 99000;
  launch.programmatic = true;
  launch.arguments = {{Argument::Kind::tensor, 1}, {Argument::Kind::tensor_map, 0}, Argument::of_int(-7)};
  plan.launches = {launch};
  return plan;
}

CaseRecipe sample_recipe() {
  CaseRecipe recipe;
  recipe.seed = 2;
  recipe.inputs.resize(2);
  recipe.inputs[0] = {"q", DType::e4m3, 4096, 64, 4096, 4096, Distribution::spikes, 6.5, 0xfedcba9876543210, 1, false};
  recipe.inputs[0].dims = {64, 64};
  recipe.inputs[0].scale_dims = {1, 1};
  recipe.inputs[1] = {"q_scale", DType::f32, 1, 1, 1, 1, Distribution::normal, 1, 3, std::nullopt, true};
  return recipe;
}

Binary sample_binary() {
  Binary binary;
  binary.arch = "sm_90a";
  binary.cubin = {std::byte{0}, std::byte{255}, std::byte{10}};
  binary.ptx = "// ptx \xff not UTF-8";
  binary.build = {"D=64", "sm_90a", "abc", 175.5, "", "log\n"};
  binary.build.kernels = {{"scale", {.registers = 168, .spill_bytes = 8, .launched = true}}};
  binary.build.kernel_names = {{"scale", "scale"}, {"reduce<float, 256>", "_Z6reduceIfLi256EEvPT_"}};
  binary.build.variables = {{"ns::rows", "_ZN2ns4rowsE"}};
  return binary;
}

/// Sends through bytes and back.
RequestMessage round_trip(Request request) {
  return decode_request(encode(RequestMessage{77, std::move(request)}));
}
ReplyMessage round_trip_reply(Reply reply) {
  return decode_reply(encode(ReplyMessage{78, std::move(reply)}));
}

Frame frame_of(const json& control, const std::vector<std::byte>& payload = {}) {
  return {json::to_cbor(control), payload};
}

json parsed(const Frame& frame) {
  return json::from_cbor(frame.control);
}

}  // namespace

TEST_CASE("every request arrives as it was sent") {
  const RequestMessage compile = round_trip(Compile{"source", "sm_89", 128, {"scale", "reduce<float, 256>"}});
  CHECK(compile.id == 77);
  CHECK(std::get<Compile>(compile.request).max_registers == 128);
  CHECK(std::get<Compile>(compile.request).kernels == std::vector<std::string>{"scale", "reduce<float, 256>"});

  // A plan and a recipe have many fields: what is encoded again must be the same bytes.
  const Frame loading = encode(RequestMessage{1, Load{5, sample_binary(), {{"long", sample_plan()}, {"none", {}}}}});
  CHECK(encode(decode_request(loading)).control == loading.control);
  const auto load = std::get<Load>(decode_request(loading).request);
  CHECK(load.module == 5);
  CHECK(load.binary.cubin == sample_binary().cubin);
  CHECK(load.binary.ptx == sample_binary().ptx);
  CHECK(load.binary.build.kernel("scale").registers == 168);
  CHECK(load.binary.build.kernel("scale").launched);
  CHECK(load.binary.build.kernel_names == sample_binary().build.kernel_names);
  CHECK(load.binary.build.variables == sample_binary().build.variables);
  CHECK(load.binary.build.compile_ms == 175.5);

  const Frame run = encode(RequestMessage{1, Run{5, "long", sample_recipe(), 3}});
  CHECK(encode(decode_request(run)).control == run.control);
  Run known{5, "long", sample_recipe(), 3};
  known.case_name = "c";
  known.recipe.reset();
  const Frame named = encode(RequestMessage{1, known});
  CHECK(named.control.size() < run.control.size() / 2);
  CHECK(std::get<Run>(decode_request(named).request).case_name == "c");
  CHECK_FALSE(std::get<Run>(decode_request(named).request).recipe);
  const Frame time = encode(
      RequestMessage{1, Time{5, "long", {sample_recipe()}, {true, 5, 50, 0.25, 0.003, 0.02}, sample_recipe(), false}});
  CHECK(encode(decode_request(time)).control == time.control);
  CHECK(std::get<Time>(decode_request(time).request).afterwards);
  const Frame counters = encode(RequestMessage{1, ReadCounters{5, "long", sample_recipe()}});
  CHECK(encode(decode_request(counters)).control == counters.control);
  CHECK(std::get<ReadCounters>(decode_request(counters).request).module == 5);
  const Frame model =
      encode(RequestMessage{1, Model{{"source", "sm_89", 64, {"scale"}}, sample_plan(), sample_recipe()}});
  CHECK(encode(decode_request(model)).control == model.control);
  CHECK(std::get<Model>(decode_request(model).request).compile.max_registers == 64);
  CHECK(std::get<Run>(decode_request(run).request).shape == "long");
  REQUIRE(load.plans.size() == 2);
  const Plan& plan = load.plans.at("long");
  CHECK(plan.launches[0].grid == Dim3{4, 8, 2});
  CHECK(plan.launches[0].arguments[2].fields == Argument::of_int(-7).fields);
  CHECK(plan.tensor_maps[0].swizzle_bytes == 128);
  REQUIRE(plan.constants.size() == 2);
  CHECK(plan.constants[1].symbol == "ns::rows");
  CHECK(plan.constants[1].source.fields == Argument::of_int(5).fields);
  CHECK(std::get<Run>(decode_request(run).request).recipe->inputs[0].stream == 0xfedcba9876543210);
}

TEST_CASE("every reply arrives as it was sent") {
  CHECK(std::get<Ready>(round_trip_reply(Ready{"cuda:0"}).reply).what == "cuda:0");
  CHECK(std::get<Ready>(round_trip_reply(Ready{"cuda:0", 16}).reply).at_once == 16);
  CHECK(std::holds_alternative<Started>(round_trip_reply(Started{}).reply));
  CHECK(std::get<Compiled>(round_trip_reply(Compiled{sample_binary()}).reply).binary.build.cubin_hash == "abc");
  CHECK(std::get<Ran>(round_trip_reply(Ran{{std::byte{1}, std::byte{2}}, std::nullopt}).reply).outputs.size() == 2);
  const auto failed =
      std::get<Failed>(round_trip_reply(Failed{{Verdict::launch_failed, "too big", true, "log"}}).reply);
  CHECK(failed.failure.verdict == Verdict::launch_failed);
  CHECK(failed.failure.device_lost);
  CHECK(failed.failure.log == "log");
  const auto profiled =
      std::get<Profiled>(round_trip_reply(Profiled{{{"first", {{"a.sum", 2.5}}}, {"second", {}}}}).reply);
  REQUIRE(profiled.launches.size() == 2);
  CHECK(profiled.launches[0].kernel == "first");
  CHECK(profiled.launches[0].value("a.sum") == 2.5);
  CHECK(profiled.launches[1].values.empty());
  const auto modelled =
      std::get<Modelled>(round_trip_reply(Modelled{sample_binary(), {{"first", {{"a.sum", 0.1}}}}}).reply);
  CHECK(modelled.binary.cubin == sample_binary().cubin);
  CHECK(modelled.launches.at(0).value("a.sum") == 0.1);
  CHECK_FALSE(modelled.failure);
  const Failure why{Verdict::unsupported, "line 7", false, ""};
  const auto not_modelled = std::get<Modelled>(round_trip_reply(Modelled{sample_binary(), {}, why}).reply);
  REQUIRE(not_modelled.failure);
  CHECK(not_modelled.failure->verdict == Verdict::unsupported);
  Timing timing;
  timing.median_us = 4.5;
  timing.samples_us = {4, 4.5, 5};
  const auto timed = std::get<Timed>(round_trip_reply(Timed{timing, {true, false}, {std::byte{9}}}).reply);
  CHECK(timed.timing.samples_us == timing.samples_us);
  CHECK(timed.as_before == std::vector<bool>{true, false});
  CHECK(timed.outputs.size() == 1);
  CHECK(std::get<Broken>(round_trip_reply(Broken{"no GPU"}).reply).message == "no GPU");
}

TEST_CASE("messages of unknown kind, with missing fields, wrong types or impossible values are refused") {
  CHECK_THROWS_AS(decode_reply(frame_of({{"id", 1}, {"kind", "launch_missiles"}, {"body", json::object()}})),
                  ProtocolError);
  CHECK_THROWS_AS(decode_request(frame_of({{"id", 1}, {"kind", "done"}, {"body", json::object()}})), ProtocolError);
  CHECK_THROWS_AS(decode_reply(frame_of({{"kind", "done"}, {"body", json::object()}})), ProtocolError);
  CHECK_THROWS_AS(decode_reply(frame_of({{"id", -1}, {"kind", "done"}, {"body", json::object()}})), ProtocolError);
  CHECK_THROWS_AS(decode_reply(frame_of({{"id", "1"}, {"kind", "done"}, {"body", json::object()}})), ProtocolError);
  CHECK_THROWS_AS(decode_reply(frame_of({{"id", 1}, {"kind", 3}, {"body", json::object()}})), ProtocolError);
  CHECK_THROWS_AS(decode_reply(frame_of(json::array({1, 2}))), ProtocolError);
  CHECK_THROWS_AS(decode_reply(Frame{}), ProtocolError);
  CHECK_THROWS_AS(decode_request(Frame{encode(RequestMessage{1, Unload{1}}).control, {std::byte{1}}}), ProtocolError);
}

TEST_CASE("a failure with the verdict valid is refused") {
  CHECK_THROWS_AS(round_trip_reply(Failed{{Verdict::valid, "", false, ""}}), ProtocolError);
}

TEST_CASE("a request that would make the worker read or divide out of range is refused") {
  const json run = parsed(encode(RequestMessage{1, Run{5, "long", sample_recipe(), 1}}));
  const Frame loading = encode(RequestMessage{1, Load{5, sample_binary(), {{"long", sample_plan()}}}});
  const json load = parsed(loading);
  const auto refuses = [&](const json& good, const char* pointer, const json& value) {
    const auto& payload = good == load ? loading.payload : std::vector<std::byte>();
    CHECK_NOTHROW(decode_request(frame_of(good, payload)));
    json bad = good;
    bad[json::json_pointer(pointer)] = value;
    INFO(pointer);
    CHECK_THROWS_AS(decode_request(frame_of(bad, payload)), ProtocolError);
  };
  refuses(run, "/body/recipe/inputs/0/scale", 9);
  refuses(run, "/body/recipe/inputs/0/group", 0);
  refuses(run, "/body/recipe/inputs/0/scale_dims/0", 64);  // 64 groups for one scale.
  refuses(run, "/body/recipe/inputs/0/row", 7);
  refuses(run, "/body/recipe/inputs/0/elements", -4096);
  refuses(run, "/body/recipe/inputs/0/dtype", "f99");
  refuses(run, "/body/recipe/inputs/0/distribution", "none");
  refuses(load, "/body/plans/long/tensors/0/bytes", 1.5);
  refuses(load, "/body/plans/long/launches/0/grid", json::array({1, 2}));
  refuses(load, "/body/plans/long/launches/0/grid/0", std::uint64_t{1} << 40);
  refuses(load, "/body/plans/long/launches/0/arguments/0/kind", "texture");
  refuses(load, "/body/plans", json::array());
  refuses(load, "/cubin_bytes", loading.payload.size() + 1);
  refuses(run, "/body/shape", 3);
  refuses(run, "/body/repeats", "three");
  refuses(run, "/body/sanitised", 1);
}

TEST_CASE("a frame's header is checked before its body is read") {
  const auto good = encode_header({100, 200});
  CHECK(decode_header(good, 200).payload == 200);
  CHECK_THROWS_AS(decode_header(good, 199), ProtocolError);
  auto wrong = good;
  wrong[0] ^= 1;
  CHECK_THROWS_AS(decode_header(wrong, 200), ProtocolError);
  CHECK_THROWS_AS(decode_header(encode_header({kMaxControlBytes + 1, 0}), 0), ProtocolError);
}

TEST_CASE("a damaged message is refused or decodes to a well-formed message") {
  const Frame good = encode(RequestMessage{1, Time{5, "long", {sample_recipe()}, {}}});
  Rng rng(7);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    Frame damaged = good;
    for (std::uint64_t i = 0; i <= rng.below(3); ++i) {
      damaged.control[rng.below(damaged.control.size())] = static_cast<std::uint8_t>(rng.next());
    }
    if (rng.below(4) == 0) damaged.control.resize(rng.below(damaged.control.size()));
    try {
      decode_request(damaged);
    } catch (const ProtocolError&) {
      ++refused;
    }
  }
  CHECK(refused > 5000);
}

TEST_CASE("excessive nesting is refused") {
  CHECK_THROWS_AS(decode_reply(Frame{std::vector<std::uint8_t>(std::size_t{8} << 20, 0x81), {}}), ProtocolError);
}

TEST_CASE("names of kernels that are none are refused") {
  json compile = parsed(encode(RequestMessage{1, Compile{"source", "sm_89", 0, {"scale"}}}));
  for (const json& wrong : {json("scale\n#pragma"), json("scale it"), json(""), json(3)}) {
    compile["body"]["kernels"] = json::array({wrong});
    CHECK_THROWS_AS(decode_request(frame_of(compile)), ProtocolError);
  }
  const Frame loading = encode(RequestMessage{1, Load{5, sample_binary(), {}}});
  json load = parsed(loading);
  CHECK_NOTHROW(decode_request(frame_of(load, loading.payload)));
  for (const json& wrong : {json("a b"), json(""), json(3)}) {
    load["body"]["binary"]["build"]["kernel_names"] = {{"scale", wrong}};
    CHECK_THROWS_AS(decode_request(frame_of(load, loading.payload)), ProtocolError);
  }
  load["body"]["binary"]["build"]["kernel_names"] = json::array({"scale"});
  CHECK_THROWS_AS(decode_request(frame_of(load, loading.payload)), ProtocolError);
}

TEST_CASE("every distribution, draw and dtype travels: no list of them has to be kept") {
  CaseRecipe recipe = sample_recipe();
  const auto travels = [&] { return std::get<Run>(round_trip(Run{5, "long", recipe, 1}).request).recipe->inputs[0]; };
  for (std::size_t i = 0; i < kEnumerators<Distribution>; ++i) {
    recipe.inputs[0].distribution = static_cast<Distribution>(i);
    CHECK(travels().distribution == recipe.inputs[0].distribution);
  }
  for (std::size_t i = 0; i < kEnumerators<DrawKind>; ++i) {
    recipe.inputs[0].draw = static_cast<DrawKind>(i);
    CHECK(travels().draw == recipe.inputs[0].draw);
  }
  for (std::size_t i = 0; i < kEnumerators<DType>; ++i) {
    recipe.inputs[0].dtype = static_cast<DType>(i);
    CHECK(travels().dtype == recipe.inputs[0].dtype);
  }
}

TEST_CASE("numbers travel bit for bit, and texts byte for byte") {
  CaseRecipe recipe = sample_recipe();
  recipe.inputs[0].numbers = {std::bit_cast<double>(std::uint64_t{0xfff8000000000123}), -0.0,
                              std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::uint64_t>::max(),
                              std::numeric_limits<double>::infinity()};
  recipe.inputs[0].content = std::string("\0\xff bytes", 8);
  const auto back = std::get<Run>(round_trip(Run{5, "long", recipe, 1}).request).recipe->inputs[0];
  CHECK(back.content == recipe.inputs[0].content);
  REQUIRE(back.numbers.size() == recipe.inputs[0].numbers.size());
  for (std::size_t i = 0; i < back.numbers.size(); ++i) {
    REQUIRE(back.numbers[i].index() == recipe.inputs[0].numbers[i].index());
    if (const double* real = std::get_if<double>(&back.numbers[i]))
      CHECK(std::bit_cast<std::uint64_t>(*real) ==
            std::bit_cast<std::uint64_t>(std::get<double>(recipe.inputs[0].numbers[i])));
    else
      CHECK(back.numbers[i] == recipe.inputs[0].numbers[i]);
  }
}

TEST_CASE("a number that is null arrives as none, and such a time is not believed") {
  Timed timed;
  timed.timing = {.shape = "long", .median_us = 5, .low_us = 5, .high_us = 5, .samples_us = {5}};
  CHECK_FALSE(check_timing(timed.timing, 0));
  json reply = parsed(encode(ReplyMessage{78, timed}));
  REQUIRE(reply.at("/body/timing/median_us"_json_pointer) == 5);
  reply["/body/timing/median_us"_json_pointer] = nullptr;
  const Timing back = std::get<Timed>(decode_reply(frame_of(reply)).reply).timing;
  CHECK(std::isnan(back.median_us));
  REQUIRE(check_timing(back, 0));
  CHECK(check_timing(back, 0)->verdict == Verdict::harness_failed);
}
