#include "tests/cli/bench.h"

using namespace evo::testing;

// Kernels with a gene `fault` (tests/data/plants): honest where it is 0, planted faults elsewhere. Searches of one
// value each must leave no elite of a fault; tests/gpu/plants runs the same ones on a GPU.

namespace {

const std::filesystem::path kPlants = EVO_TEST_DATA "/plants";

nlohmann::json entry_of(const Bench& bench, const std::string& key, const std::string& name) {
  for (const nlohmann::json& one : nlohmann::json::parse(bench.read((kPlants / "list.json").string())))
    if (one.value(key, "") == name) return one;
  FAIL("list.json has no " << name);
  return {};
}

/// The file's text with one value of the gene alone.
std::string with_fault(const std::string& text, std::size_t fault) {
  const std::size_t begin = text.find("[0, 1", text.find("\"fault\""));
  return std::string(text).replace(begin, text.find(']', begin) + 1 - begin, "[" + std::to_string(fault) + "]");
}

void check_search(const Bench& bench, std::vector<std::string> command, bool honest, const ProcessOptions& options) {
  command.insert(command.end(), {"--device", "vgpu", "--evals", "2", "--seed", "1", "--db", "evo.db"});
  CHECK(bench.evo(command, options).code == (honest ? 0 : 1));
  CHECK(bench.json({"elites", "--db", "evo.db"})["elites"].empty() != honest);
}

/// A search for the honest kernel and one for each fault of a file of ten lines.
void check_file(const std::string& name, const ProcessOptions& options = {}) {
  const Bench listed;
  const std::vector<std::string> faults = entry_of(listed, "file", name)["faults"];
  for (std::size_t fault = 0; fault <= faults.size(); ++fault) {
    INFO(name << ", fault " << fault << ": " << (fault == 0 ? "none" : faults[fault - 1]));
    const Bench bench;
    const std::string kernel = std::filesystem::path(name).stem().string() + ".cu";
    bench.write(kernel, bench.read((kPlants / kernel).string()));
    bench.write(name, with_fault(bench.read((kPlants / name).string()), fault));
    check_search(bench, {"tune", name}, fault == 0, options);
  }
}

}  // namespace

TEST_CASE(
    "plants: pairs that are turned; neighbours that write each other's pair, and a read behind the end, are found",
    "[long]") {
  check_file("turn.json");
}

TEST_CASE("plants: rows without their mean; a barrier that is missing is found, whichever it is", "[long]") {
  check_file("centre.json");
}

TEST_CASE("plants: running sums; a missing barrier, and leaving when the output looks finished, are found", "[long]") {
  check_file("running.json");
}

TEST_CASE("plants: a guard that lets two blocks write a row's first elements is found", "[long]") {
  check_file("tail.json", kChecksElites);
}

TEST_CASE("plants: weights in place; never written, uphill, twice the step, and a mark left in them are found",
          "[long]") {
  check_file("descent.json");
}

TEST_CASE("plants: codes to the nearest even; halves away from zero, and truncation, are found", "[long]") {
  check_file("codes.json");
}

TEST_CASE("plants: sums of squares; right up to 128 rows, or up to 32,767 columns, is found", "[long]") {
  check_file("energy.json", kChecksElites);
}

TEST_CASE("plants: sums of rows; what is kept in variables, or behind the end of the output, is found", "[long]") {
  check_file("kept.json");
}

TEST_CASE("plants: shares of a sum over the whole grid; a grid that does not wait is found", "[long]") {
  check_file("shares.json", kChecksElites);
}

TEST_CASE(
    "plants: a kernel that skips work which it did before is found, and one whose work depends on its data is not",
    "[long]") {
  const Bench listed;
  const nlohmann::json entry = entry_of(listed, "task", "rows");
  const std::vector<std::size_t> honest = entry["honest"];
  const std::size_t faults = entry["faults"].size();
  for (std::size_t fault = 0; fault < honest.size() + faults; ++fault) {
    INFO("fault " << fault);
    const Bench bench;
    std::filesystem::create_directories(bench / "templates");
    std::filesystem::copy(kPlants / "rows", bench / "templates/rows", std::filesystem::copy_options::recursive);
    std::string task = bench.read("templates/rows/task.json");
    const std::string large = R"({"B": 264, "N": 4096})";
    bench.write("templates/rows/task.json", task.replace(task.find(large), large.size(), R"({"B": 5, "N": 90})"));
    const std::string family = "templates/rows/skipping/family.json";
    bench.write(family, with_fault(bench.read(family), fault));
    check_search(bench, {"run", "--task", "rows"}, fault < honest.size(), {});
  }
}
