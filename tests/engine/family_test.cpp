#include "engine/task/family.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<Family> load(const SourceTree& tree) {
  return load_families(tree, load_task(tree, "scale"));
}

std::string load_complaint(const std::string& from, const std::string& to) {
  const SourceTree tree = edited(scale_task(), "scale/plain/family.json", from, to);
  return complaint_of([&] { load(tree); });
}

}  // namespace

TEST_CASE("a family is read as it is written") {
  const std::vector<Family> families = load(scale_task());
  REQUIRE(families.size() == 1);
  const Family& family = families.front();
  CHECK(family.task == "scale");
  CHECK(family.name == "plain");
  CHECK(family.kernel_path == "scale/plain/kernel.cu");
  CHECK(family.requires_device.evaluate_bool({{"sm", number(80)}}));
  REQUIRE(family.genes.size() == 4);
  CHECK(family.gene("threads")->kind == Gene::Kind::number);
  CHECK(family.gene("threads")->doc == "threads of a CTA");
  CHECK(family.gene("split")->when.text() == "threads > 32");
  CHECK(family.gene("store")->kind == Gene::Kind::slot);
  CHECK(family.gene("store")->alleles == std::vector<Value>{std::string("plain"), std::string("streamed")});
  CHECK(family.gene("nobody") == nullptr);
  CHECK(family.constraints[0].why == "a CTA would cross a row");
  CHECK(family.workspaces[0].zeroed.evaluate_bool({}));
  CHECK(family.launches[0].when.evaluate_bool({}));
  CHECK(family.launches[0].cluster[2].evaluate_int({}) == 1);
  CHECK(family.launches[1].dynamic_smem_bytes.evaluate_int({}) == 0);
  CHECK(family.launches[0].arguments.back() == "rows_left");
}

TEST_CASE("dropping a file into a slot's folder adds an allele") {
  SourceTree tree = scale_task();
  tree["scale/plain/store/another.cu"] = "";
  tree["scale/plain/store/notes.md"] = "";
  tree["scale/plain/store/deeper/more.cu"] = "";
  CHECK(load(tree)[0].gene("store")->alleles ==
        std::vector<Value>{std::string("another"), std::string("plain"), std::string("streamed")});
}

TEST_CASE("families are the folders with a family.json") {
  SourceTree tree = scale_task();
  tree["scale/wide/family.json"] = tree["scale/plain/family.json"];
  tree["scale/wide/kernel.cu"] = "";
  tree["scale/wide/store/only.cu"] = "";
  tree["scale/notes/readme.md"] = "";
  const std::vector<Family> families = load(tree);
  REQUIRE(families.size() == 2);
  CHECK(families[1].name == "wide");
}

TEST_CASE("booleans and strings make genes of their kinds") {
  const SourceTree tree =
      edited(scale_task(), "scale/plain/family.json", "{\"name\": \"vector\", \"values\": [1, 2, 4]}",
             "{\"name\": \"vector\", \"values\": [1, 2, 4]}, {\"name\": \"ping\", \"values\": [false, true]},"
             "{\"name\": \"layout\", \"values\": [\"none\", \"xor\"]}");
  const Family family = load(tree)[0];
  CHECK(family.gene("ping")->kind == Gene::Kind::boolean);
  CHECK(family.gene("layout")->kind == Gene::Kind::category);
}

TEST_CASE("mistakes in family.json are named with file, key and reason") {
  const std::string file = "scale/plain/family.json: ";
  CHECK(load_complaint("\"that\": \"M % columns == 0\"", "\"that\": \"M % colums == 0\"") ==
        file + "constraints[0].that: 'M % colums == 0' reads unknown name 'colums'; did you mean 'columns'?");
  CHECK_THAT(load_complaint("\"that\": \"M % columns == 0\"", "\"that\": \"N % columns == 0\""),
             ContainsSubstring(
                 file + "constraints[0].that: 'N % columns == 0' depends on N, which is not known before launch"));
  CHECK_THAT(load_complaint("\"that\": \"M % columns == 0\"", "\"that\": \"rows_left == 0\""),
             ContainsSubstring("depends on N"));
  CHECK_THAT(load_complaint("\"32 * vector\"", "\"32 * N\""),
             ContainsSubstring("max_registers: '32 * N' reads unknown name 'N'"));
  CHECK_THAT(load_complaint("\"sm >= 80\"", "\"threads >= 80\""),
             ContainsSubstring("requires: 'threads >= 80' reads unknown name 'threads'"));
  CHECK_THAT(load_complaint("\"when\": \"threads > 32\"", "\"when\": \"store == 'plain'\""),
             ContainsSubstring("genes[2].when: 'store == 'plain'' reads unknown name 'store'"));
  CHECK_THAT(load_complaint("\"when\": \"threads > 32\"", "\"when\": \"M > 32\""), ContainsSubstring("genes[2].when"));
  CHECK(load_complaint("\"genes\"", "\"gense\"") == file + "unknown key 'gense'; did you mean 'genes'?");
  CHECK_THAT(load_complaint("\"slot\": true", "\"slots\": true"), ContainsSubstring("genes[3]: unknown key 'slots'"));
  CHECK_THAT(load_complaint("\"slot\": true", "\"doc\": \"\""), ContainsSubstring("genes[3]: key 'values' is missing"));
  CHECK_THAT(load_complaint("\"slot\": true", "\"slot\": true, \"values\": [\"a\"]"),
             ContainsSubstring("a slot takes its values from the files"));
  CHECK(load_complaint("\"name\": \"store\"", "\"name\": \"stores\"") ==
        file + "genes[3]: slot 'stores' has no file scale/plain/stores/*.cu");
  CHECK(load_complaint("[32, 64, 128]", "[32, 128, 64]") == file + "genes[0].values: numbers must ascend");
  CHECK(load_complaint("[32, 64, 128]", "[32, 64, 64]") == file + "genes[0].values[2]: value 64 is given twice");
  CHECK_THAT(load_complaint("[32, 64, 128]", "[32, \"64\"]"),
             ContainsSubstring("genes[0].values[1]: values of one gene"));
  CHECK_THAT(load_complaint("[32, 64, 128]", "[]"), ContainsSubstring("genes[0].values: at least one value"));
  CHECK_THAT(load_complaint("[32, 64, 128]", "[0.5]"),
             ContainsSubstring("genes[0].values[0]: expected an integer, true, false or a string, not 0.5"));
  CHECK_THAT(load_complaint("\"name\": \"vector\"", "\"name\": \"threads\""),
             ContainsSubstring("genes[1].name: the name 'threads' is already taken"));
  CHECK_THAT(load_complaint("\"name\": \"vector\"", "\"name\": \"N\""), ContainsSubstring("already taken by the task"));
  CHECK_THAT(load_complaint("\"name\": \"vector\"", "\"name\": \"sm\""),
             ContainsSubstring("the name 'sm' is already taken"));
  CHECK_THAT(load_complaint("\"name\": \"vector\"", "\"name\": \"out\""),
             ContainsSubstring("the name 'out' is already taken"));
  CHECK_THAT(load_complaint("\"name\": \"vector\"", "\"name\": \"vec-tor\""),
             ContainsSubstring("'vec-tor' is not a name"));
  CHECK_THAT(load_complaint("\"name\": \"columns\"", "\"name\": \"vector\""),
             ContainsSubstring("derived[0].name: the name 'vector' is already taken"));
  CHECK_THAT(
      load_complaint("\"4 * N * split\"", "\"4 * N * spilt\""),
      ContainsSubstring("workspaces[0].bytes: '4 * N * spilt' reads unknown name 'spilt'; did you mean 'split'?"));
  CHECK_THAT(load_complaint("\"source\": \"x\"", "\"source\": \"q\""),
             ContainsSubstring("tensor_maps[0].source: 'q' is neither a tensor nor a workspace"));
  CHECK_THAT(load_complaint("\"box\": [\"64\", \"1\"]", "\"box\": [\"64\"]"),
             ContainsSubstring("tensor_maps[0].box: as many extents as dims"));
  CHECK_THAT(load_complaint("\"strides_bytes\": [\"M\"]", "\"strides_bytes\": []"),
             ContainsSubstring("tensor_maps[0].strides_bytes: one stride fewer"));
  CHECK_THAT(load_complaint("\"partial\", \"N\"", "\"partail\", \"N\""),
             ContainsSubstring("launches[0].arguments[3]: 'partail' reads unknown name 'partail'"));
  CHECK_THAT(load_complaint("[\"threads\", \"1\", \"1\"]", "[\"threads\"]"),
             ContainsSubstring("launches[0].block: three dimensions"));
  CHECK_THAT(load_complaint("\"kernel\": \"gather\"", "\"kernel\": \"gather it\""),
             ContainsSubstring("launches[1].kernel: 'gather it' is not a name"));
  SourceTree tree = scale_task();
  tree.erase("scale/plain/kernel.cu");
  CHECK(complaint_of([&] { load(tree); }) == file + "scale/plain/kernel.cu is missing");
}

TEST_CASE("facts carry every limit under its name") {
  DeviceLimits limits;
  limits.sm = 90;
  limits.smem_per_block_bytes = 232448;
  limits.smem_per_sm_bytes = 233472;
  limits.registers_per_sm = 65536;
  limits.sm_count = 132;
  limits.wgmma = true;
  CHECK(facts_of(limits) == Bindings{{"sm", number(90)},
                                     {"smem_per_block", number(232448)},
                                     {"smem_per_sm", number(233472)},
                                     {"registers_per_sm", number(65536)},
                                     {"threads_per_block", number(1024)},
                                     {"sm_count", number(132)},
                                     {"wgmma", Value{true}}});
}
