#include "bench.h"

#include <stdlib.h>

#include <sstream>
#include <utility>

namespace evo::testing {
namespace {

namespace fs = std::filesystem;

}  // namespace

Bench::Bench() {
  std::string name = (fs::temp_directory_path() / "evo_cli_XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  folder_ = name;
}

Bench::~Bench() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void Bench::write(const std::string& name, const std::string& text) const {
  fs::create_directories((folder_ / name).parent_path());
  std::ofstream out(folder_ / name, std::ios::binary);
  out << text;
  REQUIRE(out.flush());
}

std::string Bench::read(const std::string& name) const {
  std::ifstream in(folder_ / name, std::ios::binary);
  INFO(name);
  REQUIRE(in);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> Bench::files() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    if (!entry.is_directory()) names.push_back(fs::relative(entry.path(), folder_).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void Bench::change(const std::string& name, const std::string& from, const std::string& to) const {
  std::string text = read(name);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  write(name, text.replace(at, from.size(), to));
}

Outcome Bench::evo(const std::vector<std::string>& arguments, ProcessOptions options) const {
  options.folder = folder_;
  return run_evo(arguments, options);
}

nlohmann::json Bench::json(std::vector<std::string> arguments, int code) const {
  arguments.push_back("--json");
  const Outcome outcome = evo(arguments);
  REQUIRE(outcome.code == code);
  return nlohmann::json::parse(outcome.out);
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string best_of(const Bench& bench) {
  return std::to_string(bench.json({"elites"})["elites"][0]["candidate"].get<int>());
}

nlohmann::json outcomes(const Bench& bench, const std::string& database) {
  return bench.json({"runs", "1", "--db", database})["runs"][0]["outcomes"];
}

void write_toy_task(const Bench& bench, bool with_wrong) {
  fs::create_directories(bench / "templates");
  const auto options = fs::copy_options::recursive | fs::copy_options::overwrite_existing;
  fs::copy(EVO_TEST_DATA "/tasks/toy", bench / "templates/toy", options);
  if (!with_wrong) return;
  bench.change("templates/toy/plain/family.json", "[false]", "[false, true]");
}

void write_toy_with_slot(const Bench& bench) {
  write_toy_task(bench);
  std::string family = bench.read("templates/toy/plain/family.json");
  const std::string last = R"({"name": "wrong")";
  family.insert(family.find(last), "{\"name\": \"sum\", \"slot\": true},\n    ");
  bench.write("templates/toy/plain/family.json", family);
  std::string kernel = bench.read("templates/toy/plain/kernel.cu");
  const std::size_t begin = kernel.find("  if (i${item}");
  kernel.replace(begin, kernel.find('\n', begin) - begin, "  //% slot sum");
  bench.write("templates/toy/plain/kernel.cu", kernel);
  // Slow, so that there is something to win.
  bench.write("templates/toy/plain/sum/careful.cu", R"cuda(if (i${item} < N) {
  volatile float sum = a[i${item}];
  for (int k = 0; k < 200; ++k) sum = sum + 0.0f;
  c[i${item}] = sum + b[i${item}];
}
)cuda");
}

std::string verify_spoiled(const Bench& bench, std::string exported, std::size_t end) {
  const std::size_t plus = exported.rfind("] + b[", end);
  REQUIRE(plus != std::string::npos);
  exported.replace(plus, 6, "] - b[");
  bench.write("spoiled.cu", exported);
  const Outcome outcome = bench.evo({"verify", "spoiled.cu"});
  CHECK(outcome.code == 1);
  CHECK(outcome.out.find("not reproduced: wrong_answer") != std::string::npos);
  return outcome.out;
}

void check_refused(const Outcome& outcome, int code, const std::vector<std::string>& parts) {
  INFO("standard output: " << outcome.out << "\nstandard error: " << outcome.err);
  CHECK(outcome.code == code);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.starts_with("evo: "));
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  for (const std::string& part : parts) {
    INFO("expected: " << part);
    CHECK(outcome.err.find(part) != std::string::npos);
  }
}

}  // namespace evo::testing
