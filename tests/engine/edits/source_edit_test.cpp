#include "engine/edits/source_edit.h"

#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;

namespace {

SourceEdit change(std::size_t offset, std::size_t length, const std::string& text) {
  return {EditOperator::remove, "scale/plain/kernel.cu", {{offset, length, text}}, 1, "changed"};
}

}  // namespace

TEST_CASE("edits are applied at the places of the file as it was, in any order") {
  const std::vector<SourceEdit> edits = {change(0, 1, "A"), change(4, 2, ""), change(2, 0, "++")};
  CHECK(edited_text("abcdefgh", "scale/plain/kernel.cu", edits) == "Ab++cdgh");
  CHECK(edited_text("abcdefgh", "scale/plain/kernel.cu", {edits[2], edits[1], edits[0]}) == "Ab++cdgh");
  CHECK(edited_text("abcdefgh", "another.cu", edits) == "abcdefgh");
  CHECK(complaint_of([&] { edited_text("abc", "scale/plain/kernel.cu", edits); }).find("does not fit") !=
        std::string::npos);
}

TEST_CASE("edits that change the same part are not joined") {
  const EditList list{{"plain", {}}, {change(4, 4, "x")}};
  CHECK(with_edit(list, change(0, 4, "y")));
  CHECK(with_edit(list, change(4, 0, "y")));
  CHECK(with_edit(list, change(8, 0, "y")));
  CHECK(!with_edit(list, change(6, 0, "y")));
  CHECK(!with_edit(list, change(7, 3, "y")));
  CHECK(!with_edit(list, change(0, 9, "y")));
  CHECK(!with_edit(list, change(4, 4, "x")));
}

TEST_CASE("a crossover has a half of each list, and is refused where they overlap") {
  EditList a{{"plain", {{"vector", number(1)}}}, {}}, b{{"plain", {{"vector", number(2)}}}, {}};
  for (std::size_t i = 0; i < 4; ++i) {
    a.edits.push_back(change(10 * i, 2, "a"));
    b.edits.push_back(change(10 * i + 5, 2, "b"));
  }
  Rng rng(1);
  std::set<std::string> seen;
  for (int i = 0; i < 50; ++i) {
    const auto child = crossed(a, b, rng);
    REQUIRE(child);
    CHECK(child->base == a.base);
    CHECK(child->edits.size() == 4);
    seen.insert(edited_text(std::string(50, '.'), "scale/plain/kernel.cu", child->edits));
  }
  CHECK(seen.size() > 10);
  const EditList over{{"plain", {}}, {change(0, 40, "")}};
  CHECK(!crossed(a, over, rng));
  CHECK(!crossed(a, {{"another", {}}, b.edits}, rng));
  // What both have is there once.
  const EditList one{{"plain", {}}, {change(0, 2, "a")}};
  CHECK(crossed(one, one, rng)->edits.size() == 1);
}

TEST_CASE("the kernel of a list is a family of its own that carries the list") {
  SourceTree tree = scale_task();
  const Genome base{"plain", {{"threads", number(32)}, {"vector", number(2)}, {"store", std::string("plain")}}};
  const std::string& kernel = tree.at("scale/plain/kernel.cu");
  EditList list{base, {change(0, 0, "// edited\n"), change(kernel.size(), 0, "// \xc3\xa9nd\n")}};
  const ProposedFiles made = edited_files(tree, "scale", list);
  CHECK(made.genome.family.starts_with("patch_"));
  CHECK(made.files.at("scale/" + made.genome.family + "/kernel.cu") == "// edited\n" + kernel + "// \xc3\xa9nd\n");
  const auto read = edit_list_in(made.files);
  REQUIRE(read);
  CHECK(read->base == base);
  REQUIRE(read->edits.size() == 2);
  CHECK(read->edits[1].key() == list.edits[1].key());
  CHECK(in_words(*read) == "kernel.cu:1: changed\nkernel.cu:1: changed");
  CHECK(!edit_list_in(tree));
  // A patch of it does not claim to be that list.
  tree.insert(made.files.begin(), made.files.end());
  const ProposedFiles patch = patched_files(tree, "scale", made.genome, {{"kernel.cu", "// edited", "// patched"}});
  CHECK(!edit_list_in(patch.files));
  CHECK(complaint_of([&] {
          edit_list_in({{"scale/x/edits.json", "{}"}});
        }).find("cannot be read") != std::string::npos);
}

TEST_CASE("a file that another one names by its place is edited together with it") {
  SourceTree tree = scale_task();
  tree["scale/source/a.cu"] = "#include \"b.h\"\n#include \"c.cu\"\n";
  tree["scale/source/b.h"] = "// b\n";
  tree["scale/source/c.cu"] = "// c\n";
  tree["scale/plain/kernel.cu"] += "//% include \"scale/source/a.cu\"\n";
  const Genome base{"plain", {{"threads", number(32)}, {"vector", number(2)}, {"store", std::string("plain")}}};
  SourceEdit edit = change(0, 4, "// d");
  edit.file = "scale/source/c.cu";
  const ProposedFiles made = edited_files(tree, "scale", {base, {edit}});
  tree.insert(made.files.begin(), made.files.end());
  const std::string text = render_template(tree, "scale/" + made.genome.family + "/kernel.cu",
                                           {{"columns", number(1)},
                                            {"M", number(64)},
                                            {"out", std::string("f16")},
                                            {"store", std::string("plain")},
                                            {"vector", number(2)},
                                            {"threads", number(32)}});
  CHECK(text.ends_with("// b\n// d\n"));
}
