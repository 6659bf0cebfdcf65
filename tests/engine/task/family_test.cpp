#include "engine/task/target.h"
#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

std::vector<Family> load_families(const SourceTree& tree) {
  return load_families(tree, load_task(tree, "scale"));
}

std::string family_complaint(const std::string& from, const std::string& to) {
  const SourceTree tree = edited(scale_task(), "scale/plain/family.json", from, to);
  return complaint_of([&] { load_families(tree); });
}

}  // namespace

TEST_CASE("every part of a family is read") {
  const std::vector<Family> families = load_families(scale_task());
  REQUIRE(families.size() == 1);
  const Family& family = families.front();
  CHECK(family.task == "scale");
  CHECK(family.name == "plain");
  CHECK(family.kernel_path == "scale/plain/kernel.cu");
  CHECK(family.legal.evaluate_bool({{"sm", number(80)}}));
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
  CHECK(family.launches[0].arguments.back().text == "rows_left");
}

TEST_CASE("constraints can be meant for some objectives and shapes") {
  const std::string that = R"({"that": "threads <= 64", "why": "rounds too much", )";
  const SourceTree tree = edited(edited(scale_task(), "scale/task.json", R"("summary")",
                                        R"("objectives": {"latency": {}, "accurate": {}}, "summary")"),
                                 "scale/plain/family.json", R"("constraints": [)",
                                 R"("constraints": [)" + that + R"("objectives": ["accurate"], "shapes": "N > 100"},)");
  const Task task = load_task(tree, "scale");
  const auto holds = [&](const std::string& objective, const std::string& shape) {
    Family family = load_families(tree, task).front();
    keep_constraints_of(make_target(task, "vgpu", {shape}, {}, objective), family);
    return family.constraints.front().why == "rounds too much";
  };
  CHECK(holds("accurate", "large"));
  CHECK_FALSE(holds("accurate", "small"));
  CHECK_FALSE(holds("latency", "large"));
}

TEST_CASE("dropping a file into a slot's folder adds an allele") {
  SourceTree tree = scale_task();
  tree["scale/plain/store/another.cu"] = "";
  tree["scale/plain/store/notes.md"] = "";
  tree["scale/plain/store/deeper/more.cu"] = "";
  CHECK(load_families(tree)[0].gene("store")->alleles ==
        std::vector<Value>{std::string("another"), std::string("plain"), std::string("streamed")});
}

TEST_CASE("families are the folders with a family.json") {
  SourceTree tree = scale_task();
  tree["scale/wide/family.json"] = tree["scale/plain/family.json"];
  tree["scale/wide/kernel.cu"] = "";
  tree["scale/wide/store/only.cu"] = "";
  tree["scale/notes/readme.md"] = "";
  const std::vector<Family> families = load_families(tree);
  REQUIRE(families.size() == 2);
  CHECK(families[1].name == "wide");
}

TEST_CASE("booleans and strings make genes of their kinds") {
  const SourceTree tree =
      edited(scale_task(), "scale/plain/family.json", "{\"name\": \"vector\", \"values\": [1, 2, 4]}",
             "{\"name\": \"vector\", \"values\": [1, 2, 4]}, {\"name\": \"ping\", \"values\": [false, true]},"
             "{\"name\": \"layout\", \"values\": [\"none\", \"xor\"]}");
  const Family family = load_families(tree)[0];
  CHECK(family.gene("ping")->kind == Gene::Kind::boolean);
  CHECK(family.gene("layout")->kind == Gene::Kind::category);
}

TEST_CASE("mistakes in family.json are named with file, key and reason") {
  const std::string file = "scale/plain/family.json: ";
  const std::vector<Mistake> whole = {
      {R"("that": "M % columns == 0")", R"("that": "M % colums == 0")",
       "constraints[0].that: 'M % colums == 0' reads unknown name 'colums'; did you mean 'columns'?"},
      {R"("genes")", R"("gense")", "unknown key 'gense'; did you mean 'genes'?"},
      {R"("name": "store")", R"("name": "stores")", "genes[3]: slot 'stores' has no file scale/plain/stores/*.cu"},
      {"[32, 64, 128]", "[32, 128, 64]", "genes[0].values: numbers must ascend"},
      {"[32, 64, 128]", "[32, 64, 64]", "genes[0].values[2]: value 64 is given twice"},
  };
  for (const Mistake& mistake : whole) CHECK(family_complaint(mistake.from, mistake.to) == file + mistake.complaint);
  const std::vector<Mistake> part = {
      {R"("that": "M % columns == 0")", R"("that": "N % columns == 0")",
       "constraints[0].that: 'N % columns == 0' depends on N, which is not known before launch"},
      {R"("that": "M % columns == 0")", R"("that": "rows_left == 0")", "depends on N"},
      {R"("why": "a CTA would)", R"("objectives": ["exact"], "why": "a CTA would)",
       "constraints[0].objectives[0]: unknown objective 'exact'"},
      {R"("why": "a CTA would)", R"("shapes": "threads > 32", "why": "a CTA would)",
       "constraints[0].shapes: 'threads > 32' reads unknown name 'threads'"},
      {R"("32 * vector")", R"("32 * N")", "max_registers: '32 * N' reads unknown name 'N'"},
      {R"("sm >= 80")", R"("threads >= 80")", "requires: 'threads >= 80' reads unknown name 'threads'"},
      {R"("when": "threads > 32")", R"("when": "store == 'plain'")",
       "genes[2].when: 'store == 'plain'' reads unknown name 'store'"},
      {R"("when": "threads > 32")", R"("when": "M > 32")", "genes[2].when"},
      {R"("slot": true)", R"("slots": true)", "genes[3]: unknown key 'slots'"},
      {R"("slot": true)", R"("doc": "")", "genes[3]: key 'values' is missing"},
      {R"("slot": true)", R"("slot": true, "values": ["a"])", "a slot takes its values from the files"},
      {"[32, 64, 128]", R"([32, "64"])", "genes[0].values[1]: values of one gene"},
      {"[32, 64, 128]", "[]", "genes[0].values: at least one value"},
      {"[32, 64, 128]", "[0.5]", "genes[0].values[0]: numbers of a gene are integers; name reals by strings"},
      {R"("name": "vector")", R"("name": "threads")", "genes[1].name: the name 'threads' is already taken"},
      {R"("name": "vector")", R"("name": "N")", "already taken by the task"},
      {R"("name": "vector")", R"("name": "sm")", "the name 'sm' is already taken"},
      {R"("name": "vector")", R"("name": "out")", "the name 'out' is already taken"},
      {R"("name": "vector")", R"("name": "vec-tor")", "'vec-tor' is not a name"},
      {R"("name": "columns")", R"("name": "vector")", "derived[0].name: the name 'vector' is already taken"},
      {R"("4 * N * split")", R"("4 * N * spilt")",
       "workspaces[0].bytes: '4 * N * spilt' reads unknown name 'spilt'; did you mean 'split'?"},
      {R"("source": "x")", R"("source": "q")", "tensor_maps[0].source: 'q' is neither a tensor nor a workspace"},
      {R"("box": ["64", "1"])", R"("box": ["64"])", "tensor_maps[0].box: as many extents as dims"},
      {R"("strides_bytes": ["M"])", R"("strides_bytes": [])", "tensor_maps[0].strides_bytes: one stride fewer"},
      {R"("partial", "N")", R"("partail", "N")", "launches[0].arguments[3]: 'partail' reads unknown name 'partail'"},
      {R"(["threads", "1", "1"])", R"(["threads"])", "launches[0].block: three dimensions"},
      {R"("kernel": "gather")", R"("kernel": "gather it")", "launches[1].kernel: 'gather it' is not a name"},
  };
  for (const Mistake& mistake : part) {
    CHECK_THAT(family_complaint(mistake.from, mistake.to), StartsWith(file) && ContainsSubstring(mistake.complaint));
  }
  const auto constants_complaint = [](const std::string& constants) {
    return family_complaint(R"("max_registers")", R"("constants": )" + constants + R"(, "max_registers")");
  };
  const std::vector<std::pair<std::string, std::string>> constants = {
      {R"({"d a": "a"})", "constants.d a: 'd a' is not the name of a variable"},
      {R"({"d<1>": "a"})", "constants.d<1>: 'd<1>' is not the name of a variable"},
      {R"({"d": "y"})", "constants.d: 'y' is an output: a variable is filled with an input or a value"},
      {R"({"d": "partial"})", "constants.d: 'partial' reads unknown name 'partial'"},
      {R"({"d": "float:K"})", "constants.d: 'K' reads unknown name 'K'"},
      {R"({"d": {"when": "split > 1"}})", "constants.d: key 'value' is missing"},
      {R"({"d": {"value": "a", "if": true}})", "constants.d: unknown key 'if'"},
      {R"({"d": {"value": "a", "when": "spilt > 1"}})", "constants.d.when: 'spilt > 1' reads unknown name 'spilt'"}};
  for (const auto& [text, complaint] : constants)
    CHECK_THAT(constants_complaint(text), StartsWith(file) && ContainsSubstring(complaint));
  SourceTree tree = scale_task();
  tree.erase("scale/plain/kernel.cu");
  CHECK(complaint_of([&] { load_families(tree); }) == file + "scale/plain/kernel.cu is missing");
}

TEST_CASE("facts contain every limit and every ability under its name") {
  DeviceLimits limits;
  limits.sm = 90;
  limits.smem_per_block_bytes = 232448;
  limits.smem_per_sm_bytes = 233472;
  limits.registers_per_sm = 65536;
  limits.sm_count = 132;
  CHECK(facts_of(limits) == Bindings{{"sm", number(90)},
                                     {"smem_per_block", number(232448)},
                                     {"smem_per_sm", number(233472)},
                                     {"registers_per_sm", number(65536)},
                                     {"threads_per_block", number(1024)},
                                     {"threads_per_sm", number(2048)},
                                     {"sm_count", number(132)},
                                     {"cp_async", Value{true}},
                                     {"l2_hints", Value{true}},
                                     {"bf16_mma", Value{true}},
                                     {"mma_k16", Value{true}},
                                     {"fp8_convert", Value{true}},
                                     {"fp8_mma", Value{true}},
                                     {"fp8_mma_widened", Value{true}},
                                     {"mbarrier", Value{true}},
                                     {"tma", Value{true}},
                                     {"clusters", Value{true}},
                                     {"dsmem", Value{true}},
                                     {"dependent_launch", Value{true}},
                                     {"wgmma", Value{true}},
                                     {"tcgen05", Value{false}},
                                     {"block_scaled_mma", Value{false}}});
}

TEST_CASE("a kernel may be a template's instance that depends on genes, but not on what no program depends on") {
  CHECK(family_complaint(R"("kernel": "gather")", R"("kernel": "ns::gather<${threads}, float>")").empty());
  CHECK_THAT(family_complaint(R"("kernel": "gather")", R"("kernel": "gather<${tile}>")"),
             ContainsSubstring("launches[1].kernel: 'tile' reads unknown name 'tile'"));
  CHECK_THAT(family_complaint(R"("kernel": "gather")", R"("kernel": "gather<${N}>")"),
             ContainsSubstring("launches[1].kernel: 'N' reads unknown name 'N'"));
  CHECK_THAT(family_complaint(R"("kernel": "gather")", R"("kernel": "gather<3")"), ContainsSubstring("is not a name"));
}
