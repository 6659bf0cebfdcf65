#include "engine/short_form/t1_form.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/base/error.h"
#include "engine/short_form/short_form.h"
#include "engine/short_form/t1.h"
#include "engine/task/family.h"

using namespace evo;
using Catch::Matchers::ContainsSubstring;
using Json = nlohmann::ordered_json;

namespace {

/// In the manner of Kernel Tuner's convolution.
Json usual_t1() {
  return Json::parse(R"json({
    "General": {"BenchmarkName": "convolution"},
    "ConfigurationSpace": {
      "TuningParameters": [
        {"Name": "filter_width", "Type": "int", "Values": "[15]", "Default": 15},
        {"Name": "block_size_x", "Type": "int", "Values": "[16, 32, 48]", "Default": 32},
        {"Name": "tile_size_x", "Type": "int", "Values": "list(range(1, 4))", "Default": 1}],
      "Conditions": [{"Expression": "block_size_x * tile_size_x <= 96", "Parameters": ["block_size_x", "tile_size_x"]}]},
    "Search": {"Name": "random"},
    "BenchmarkConfig": {"WIDTH": 64},
    "KernelSpecification": {
      "Language": "CUDA", "CompilerOptions": ["-std=c++11", "-DGAIN=2"], "KernelName": "conv", "KernelFile": "conv.cu",
      "GlobalSizeType": "CUDA",
      "LocalSize": {"X": "block_size_x", "Y": "1", "Z": "1"},
      "GlobalSize": {"X": "(4096 // block_size_x) // tile_size_x", "Y": "WIDTH"},
      "GridDivX": ["block_size_x", "tile_size_x"], "GridDivY": [], "ProblemSize": [4096, 8],
      "SharedMemory": 0, "Stream": null,
      "Arguments": [
        {"Name": "out", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly", "FillType": "Constant",
         "Size": "ProblemSize[0]*ProblemSize[1]", "FillValue": 0.0, "Output": 1},
        {"Name": "in", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "FillType": "Random",
         "Size": "(ProblemSize[0]+max(filter_width)-1) * ProblemSize[1]", "FillValue": 1.0},
        {"Name": "sums", "Type": "int32", "MemoryType": "Vector", "AccessType": "ReadWrite", "FillType": "Constant",
         "Size": 8, "FillValue": 3},
        {"Name": "index", "Type": "int32", "MemoryType": "Vector", "AccessType": "ReadOnly", "FillType": "Random",
         "Size": 8, "FillValue": 7},
        {"Name": "count", "Type": "double", "MemoryType": "Vector", "AccessType": "ReadOnly", "FillType": "Generator",
         "Size": 8, "DataSource": "i"},
        {"Name": "gain", "Type": "float", "MemoryType": "Scalar", "FillValue": 0.25},
        {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": 4096}]}
  })json");
}

ShortForm read_t1_json(const Json& t1) {
  return read_short_form("t1.json", [&](const std::string& path) -> std::string {
    if (path == "t1.json") return t1.dump();
    if (path == "conv.cu") return "__global__ void conv() {}";
    throw usage_error("cannot read " + path);
  });
}

std::string t1_error_of(const Json& t1) {
  try {
    const ShortForm form = read_t1_json(t1);
    try {
      load_families(form.files, load_task(form.files, form.task));
    } catch (const Error& error) {
      return form.in_authors_places(error.what());
    }
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// The file with one place changed, by its JSON pointer; null removes it.
Json t1_changed(const std::string& pointer, const Json& value) {
  Json t1 = usual_t1();
  const Json::json_pointer place(pointer);
  if (value.is_null())
    t1[place.parent_pointer()].erase(place.back());
  else
    t1[place] = value;
  return t1;
}

}  // namespace

TEST_CASE("a T1 file is a task of one shape, and its first legal genome the reference") {
  const ShortForm form = read_t1_json(usual_t1());
  const Task task = load_task(form.files, "t1");
  const Family family = load_families(form.files, task).at(0);
  CHECK(task.self_consistent);
  CHECK(task.shapes.size() == 1);
  CHECK(task.shapes.at(0).name == "4096x8");
  CHECK(task.legal.text() == "problem_x == 4096 && problem_y == 8");
  CHECK(task.outputs.at(0).dims.at(0).text() == "32768");
  CHECK(task.outputs.at(1).draw.kind == DrawKind::constant);
  CHECK(task.outputs.at(1).inout);
  // 'in' is a word of the expression language.
  CHECK(task.inputs.at(0).name == "in_");
  CHECK(task.inputs.at(0).dims.at(0).text() == "32880");
  CHECK(task.inputs.at(0).draw.kind == DrawKind::automatic);
  CHECK(task.inputs.at(1).draw.kind == DrawKind::integers);
  CHECK(task.inputs.at(2).draw.kind == DrawKind::iota);
  CHECK(family.gene("GAIN")->alleles == std::vector<Value>{std::int64_t{2}});
  CHECK(family.gene("tile_size_x")->alleles.size() == 3);
  CHECK(family.constraints.at(0).condition.text() == "block_size_x * tile_size_x <= 96");
  const LaunchSpec& launch = family.launches.at(0);
  CHECK(launch.grid[0].text() == "ceil_div(4096, (block_size_x) * (tile_size_x))");
  CHECK(launch.grid[1].text() == "8");
  CHECK(launch.arguments.at(5).text == "float:0.25");
  CHECK(launch.arguments.at(6).text == "int32:4096");
}

TEST_CASE("without ProblemSize a T1 file's GlobalSize counts blocks, or threads as OpenCL does") {
  const auto grid_of = [](const std::string& type) {
    Json t1 = t1_changed("/KernelSpecification/ProblemSize", nullptr);
    t1["KernelSpecification"]["GlobalSizeType"] = type;
    for (const std::size_t i : {0, 1}) t1["KernelSpecification"]["Arguments"][i]["Size"] = 4096;
    const ShortForm form = read_t1_json(t1);
    return load_families(form.files, load_task(form.files, "t1")).at(0).launches.at(0).grid;
  };
  CHECK(grid_of("CUDA")[0].text() == "(4096 // block_size_x) // tile_size_x");
  CHECK(grid_of("CUDA")[1].text() == "64");
  CHECK(grid_of("OpenCL")[0].text() == "ceil_div((4096 // block_size_x) // tile_size_x, block_size_x)");
}

TEST_CASE("a T1 file's extents are lists or objects") {
  Json lists = usual_t1(), objects = usual_t1();
  lists["KernelSpecification"]["LocalSize"] = {"block_size_x", "1", 1};
  objects["KernelSpecification"]["ProblemSize"] = {{"X", 4096}, {"Y", 8}};
  for (const Json& t1 : {lists, objects}) CHECK(read_t1_json(t1).files == read_t1_json(usual_t1()).files);
  objects["KernelSpecification"]["ProblemSize"] = {{"X", 4096}, {"Z", 8}};
  CHECK_THAT(t1_error_of(objects), ContainsSubstring("KernelSpecification.ProblemSize: key 'Y' is missing"));
}

TEST_CASE("symbols and constant memory of a T1 file are constants, and no arguments of the kernel") {
  Json t1 = t1_changed("/KernelSpecification/Arguments/3/MemType", "Constant");
  t1["KernelSpecification"]["Arguments"][5]["MemoryType"] = "Symbol";
  const ShortForm form = read_t1_json(t1);
  const Task task = load_task(form.files, "t1");
  const Family family = load_families(form.files, task).at(0);
  REQUIRE(family.constants.size() == 2);
  CHECK(family.constants.at(0).symbol == "index");
  CHECK(family.constants.at(1).symbol == "gain");
  CHECK(family.launches.at(0).arguments.size() == 5);
  CHECK(form.in_authors_places("t1/tuned/family.json: launches[0].arguments[4]: wrong") ==
        "t1.json: KernelSpecification.Arguments[6]: wrong");
}

TEST_CASE("what T1 says and evo has not is named by its field") {
  const std::string spec = "/KernelSpecification/", first = spec + "Arguments/0/", third = spec + "Arguments/2/";
  const std::vector<std::pair<Json, std::string>> wrong = {
      {t1_changed(spec + "Language", "OpenCL"), "t1.json: KernelSpecification.Language: 'OpenCL': kernels are CUDA"},
      {t1_changed(spec + "Lanuage", "CUDA"),
       "t1.json: KernelSpecification: unknown key 'Lanuage'; did you mean 'Language'?"},
      {t1_changed(spec + "KernelFile", "none.cu"), "t1.json: KernelSpecification.KernelFile: cannot read none.cu"},
      {t1_changed(spec + "KernelName", "cnv"), "t1.json: KernelSpecification.KernelName: conv.cu has no kernel cnv"},
      {t1_changed(spec + "KernelName", nullptr), "t1.json: KernelSpecification: key 'KernelName' is missing"},
      {t1_changed(spec + "CompilerOptions", {"", "-Xptxas"}),
       "KernelSpecification.CompilerOptions[1]: '-Xptxas' is not supported"},
      {t1_changed(spec + "ReferenceArguments", {{{"Name", "out"}}}),
       "KernelSpecification.ReferenceArguments: not supported"},
      {t1_changed(spec + "GridDivX", {"block"}),
       "t1.json: KernelSpecification.GridDivX[0]: 'block' reads unknown name"},
      {t1_changed(spec + "LocalSize/X", "blok"), "t1.json: KernelSpecification.LocalSize.X: 'blok' reads unknown name"},
      {t1_changed(spec + "LocalSize/W", "1"), "t1.json: KernelSpecification.LocalSize: unknown key 'W'"},
      {t1_changed(spec + "SharedMemory", "tile * 4"),
       "t1.json: KernelSpecification.SharedMemory: 'tile * 4' reads unknown"},
      {t1_changed(first + "Type", "float8"),
       "t1.json: KernelSpecification.Arguments[0].Type: 'float8' is not supported"},
      {t1_changed(first + "MemoryType", "Local"), "Arguments[0].MemoryType: 'Local' is not supported"},
      {t1_changed("/KernelSpecification/Arguments/3",
                  Json({{"Name", "index"}, {"Type", "int32"}, {"MemoryType", "Symbol"}})),
       "t1.json: KernelSpecification.Arguments[3]: key 'FillValue' is missing"},
      {t1_changed(first + "AccessType", "Write"), "Arguments[0].AccessType: 'Write' is none of ReadOnly"},
      {t1_changed(first + "Size", "ProblemSize[2]"), "Arguments[0].Size: expression 'ProblemSize[2]'"},
      {t1_changed(first + "Size", nullptr), "t1.json: KernelSpecification.Arguments[0]: key 'Size' is missing"},
      {t1_changed(third + "FillType", "Script"), "Arguments[2].FillType: 'Script' is not supported"},
      {t1_changed("/ConfigurationSpace/Conditions/0/Expression", "math.ceil(tile_size_x) > 1"),
       "t1.json: condition 1: "},
  };
  for (const auto& [t1, message] : wrong) {
    INFO(message);
    CHECK_THAT(t1_error_of(t1), ContainsSubstring(message));
  }
}

TEST_CASE("T1's compiler options, its authors' remarks and keys with small letters are read") {
  const std::string spec = "/KernelSpecification/";
  Json t1 = t1_changed(spec + "CompilerOptions", {"", "-O3", "--use_fast_math", "-maxrregcount 32", "-DGAIN=2"});
  t1["KernelSpecification"]["Comment"] = "ours";
  t1["KernelSpecification"]["SharedMemoryOriginal"] = 3;
  const ShortForm form = read_t1_json(t1);
  CHECK_THAT(form.files.at("t1/tuned/kernel.cu"), ContainsSubstring("// evo: compile with -use_fast_math\n"));
  CHECK_THAT(form.files.at("t1/tuned/family.json"), ContainsSubstring("\"max_registers\": 32"));
  CHECK_THAT(form.files.at("t1/reference.cu"), !ContainsSubstring("fast_math"));
  Json small = usual_t1();
  small["kernelSpecification"] = small["KernelSpecification"];
  small["kernelSpecification"]["kernelName"] = "conv";
  small["kernelSpecification"].erase("KernelName");
  small.erase("KernelSpecification");
  CHECK(read_t1_json(small).files == read_t1_json(usual_t1()).files);
}

TEST_CASE("T1's keys are read in every casing, with underscores too, and what is no key of T1's stays") {
  std::string snake, upper;
  const std::string text = usual_t1().dump();
  bool key = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') key = !key && text.find("\":", i + 1) == text.find('"', i + 1);
    const bool capital = key && text[i] >= 'A' && text[i] <= 'Z';
    const char small = capital ? static_cast<char>(text[i] - 'A' + 'a') : text[i];
    snake += capital && text[i - 1] != '"' ? std::string("_") + small : std::string(1, small);
    upper += key && text[i] >= 'a' && text[i] <= 'z' ? static_cast<char>(text[i] - 'a' + 'A') : text[i];
  }
  const auto usual = read_t1_json(usual_t1()).files;
  CHECK(read_t1_json(Json::parse(snake)).files == usual);
  CHECK(read_t1_json(Json::parse(upper)).files == usual);
  CHECK(usual_keys_of_t1(R"({"name_x": 1, "benchmark_config": {"name": 1}})") ==
        R"({"name_x":1,"BenchmarkConfig":{"name":1}})");
}
