#include "cli/subject/tried_shapes.h"

#include <set>

#include "cli/sources/templates.h"
#include "engine/device/device_kind.h"
#include "engine/task/floor.h"
#include "tests/cli/bench.h"

using namespace evo;
using namespace evo::testing;

namespace {

/// A task of rows and columns; `more` are further keys of its file.
struct Rows {
  Bench bench;
  Task task;
  Family family;
  Target target;

  explicit Rows(const std::string& more) {
    write_toy_task(bench);
    std::string text = bench.read("templates/toy/task.json");
    text.insert(text.find('{') + 1, more);
    bench.write("templates/toy/task.json", text);
    const SourceTree tree = cli::read_templates((bench / "templates").string());
    task = load_task(tree, "toy");
    family = load_families(tree, task).front();
    target = make_target(task, "vgpu", {}, {});
    add_default_validation(task, "vgpu", target);
  }

  std::set<std::string> tried(double most_work = 1e8) const {
    std::set<std::string> names;
    for (const cli::TriedShape& one : cli::tried_shapes(task, target, family, "vgpu", most_work))
      names.insert(one.shape.name);
    return names;
  }
};

}  // namespace

TEST_CASE("sizes that nobody listed are 1, the neighbours of tiles and powers of two, and beyond 2^15 and 2^16") {
  const std::set<std::string> names = Rows("").tried();
  for (const char* expected : {"N=1", "N=127", "N=129", "N=1025", "N=32769", "N=65537"})
    CHECK(names.contains(expected));
  for (const Gene& gene : Rows("").family.genes)
    for (const Value& allele : gene.alleles)
      if (const auto* size = std::get_if<std::int64_t>(&allele); size != nullptr && *size >= 64 && *size <= 1024) {
        CHECK(names.contains("N=" + std::to_string(*size + 1)));
      }
}

TEST_CASE("a size that all listed shapes share is fixed, unless `requires` names it") {
  const auto tried_with_one_shape = [](const std::string& more) {
    Rows rows(more);
    rows.task.shapes.resize(1);
    rows.target.timed = rows.task.shapes;
    rows.target.validated.clear();
    return rows.tried();
  };
  CHECK(tried_with_one_shape("").empty());
  CHECK(tried_with_one_shape(R"("requires": "N > 0",)").contains("N=1"));
}

TEST_CASE("`requires` limits the sizes that are tried, and so does the work of a case") {
  const std::set<std::string> names = Rows(R"("requires": "N % 5 != 4 && N < 40000",)").tried();
  CHECK(names.contains("N=127"));
  CHECK_FALSE(names.contains("N=129"));
  CHECK_FALSE(names.contains("N=32769"));
  CHECK_FALSE(names.contains("N=65537"));
  CHECK_FALSE(Rows("").tried(1e5).contains("N=65537"));
}

TEST_CASE("each size comes with the `requires` that would exclude it") {
  const Rows rows("");
  for (const cli::TriedShape& one : cli::tried_shapes(rows.task, rows.target, rows.family, "vgpu", 1e8)) {
    if (one.shape.name == "N=65537") CHECK(one.exclude == "N % 5 == 0");
    if (one.shape.name == "N=1025") CHECK(one.exclude == "N != 1025");
  }
}

TEST_CASE("a large shape is cut down until it is small enough, and stays legal") {
  const SourceTree tree = cli::read_templates(kTemplates);
  for (const char* name : {"fp8_sdpa", "gemm_bf16", "grouped_gemm", "softmax"}) {
    const Task task = load_task(tree, name);
    Target target = make_target(task, "cuda", {}, {});
    add_default_validation(task, "cuda", target);
    std::vector<std::string> left_out;
    const std::vector<Shape> small = cli::small_shapes(task, target, "vgpu", 1e8, left_out);
    REQUIRE_FALSE(small.empty());
    for (const Shape& shape : small) {
      INFO(name << " " << shape.name);
      CHECK(work_of(task, target.options, shape, kind_named("vgpu")) <= 1e8);
      CHECK(is_legal(task, target.options, shape));
    }
  }
}
