#include "engine/source/template.h"

#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const Bindings kBindings = {{"tile", number(64)},
                            {"stages", number(3)},
                            {"swizzle", true},
                            {"layout", std::string("xor")},
                            {"rescale", std::string("lazy")}};

std::string render(const std::string& source) {
  return render_template({{"t/f/kernel.cu", source}}, "t/f/kernel.cu", kBindings);
}

std::string render_complaint(const std::string& source) {
  return complaint_of([&] { render(source); });
}

}  // namespace

TEST_CASE("text without directives is rendered unchanged") {
  const std::string source = "int a;\n\n  // comment % with ${'$'} and {braces}\n\tfloat b;\n";
  CHECK(render(source) == "int a;\n\n  // comment % with $ and {braces}\n\tfloat b;\n");
  CHECK(render("") == "");
  CHECK(render("no newline") == "no newline\n");
  CHECK(render("windows\r\nlines\r\n") == "windows\nlines\n");
}

TEST_CASE("expressions in ${} are replaced by their values") {
  CHECK(render("int tile = ${tile}, half = ${ tile / 2 };\n") == "int tile = 64, half = 32;\n");
  CHECK(render("${layout}_${swizzle}\n") == "xor_true\n");
  CHECK(render("${layout == 'xor' ? '}' : \"{\"}\n") == "}\n");
}

TEST_CASE("if, elif and else leave only the branch taken") {
  const auto chosen = [](const std::string& stages) {
    return render("//% let n = " + stages +
                  "\na\n//% if n > 3\nmany\n//% elif n > 1\nfew\n//% else\none\n//% end\nz\n");
  };
  CHECK(chosen("5") == "a\nmany\nz\n");
  CHECK(chosen("2") == "a\nfew\nz\n");
  CHECK(chosen("1") == "a\none\nz\n");
  CHECK(render("//% if stages > 9\nx\n//% end\n") == "");
  CHECK(render("//% if swizzle\n  //% if tile == 64\n  y\n  //% end\n//% end\n") == "  y\n");
}

TEST_CASE("for runs from the first value up to and without the last") {
  CHECK(render("//% for i in 0..stages\nbuf${i};\n//% end\n") == "buf0;\nbuf1;\nbuf2;\n");
  CHECK(render("//% for i in stages - 1..tile / 16 + 1\n${i}\n//% end\n") == "2\n3\n4\n");
  CHECK(render("//% for i in 3..3\nx\n//% end\n") == "");
  CHECK(render("//% for i in 3..1\nx\n//% end\n") == "");
  CHECK(render("//% for i in 0..2\n//% for j in 0..i + 1\n${i}${j}\n//% end\n//% end\n") == "00\n10\n11\n");
}

TEST_CASE("let defines a name until its block ends") {
  CHECK(render("//% let half = tile / 2\n${half}\n") == "32\n");
  CHECK(render("//% let half = tile / 2, twice = max(half, 1) * 4, text = 'a, b'\n${twice} ${text}\n") == "128 a, b\n");
  CHECK(render("//% for i in 0..2\n//% let twice = 2 * i\n${twice}\n//% end\n") == "0\n2\n");
  CHECK_THAT(render_complaint("//% if swizzle\n//% let x = 1\n//% end\n${x}\n"),
             ContainsSubstring("t/f/kernel.cu:4: 'x': unknown name 'x'"));
  CHECK(render_complaint("//% let tile = 3\n") == "t/f/kernel.cu:1: 'tile' is already defined");
  CHECK(render_complaint("//% for tile in 0..2\n//% end\n") == "t/f/kernel.cu:1: 'tile' is already defined");
}

TEST_CASE("a directive that starts with # is a remark") {
  CHECK(render("a\n//% # nobody sees this\nb\n") == "a\nb\n");
}

TEST_CASE("include looks in the folder of the including file, then in the kernel's, then in the templates folder") {
  const SourceTree tree = {
      {"t/f/kernel.cu", "//% include \"part.cuh\"\n//% include \"include/mma.cuh\"\n//% include \"sub/deep.cuh\"\n"},
      {"t/f/part.cuh", "part ${tile}\n//% let own = 1\n"},
      {"t/f/sub/deep.cuh", "//% include \"near.cuh\"\n//% include \"part.cuh\"\n//% include \"all.cuh\"\n"},
      {"t/f/sub/near.cuh", "near\n"},
      {"part.cuh", "part of all\n"},
      {"all.cuh", "all\n"},
      {"include/mma.cuh", "mma\n//% let own = 2\n"},
  };
  CHECK(render_template(tree, "t/f/kernel.cu", kBindings) == "part 64\nmma\nnear\npart 64\nall\n");
}

TEST_CASE("an included file that says what it takes is given it by the including one") {
  const SourceTree tree = {
      {"t/f/kernel.cu",
       "//% let rows = 8\n//% include \"part.cuh\" with rows, kind = layout == 'xor' ? 'a, b' : 'c'\n"
       "//% include \"part.cuh\" with kind = \"d\", columns = max(rows, 2), rows = 1\n"},
      {"t/f/part.cuh", "// part\n//% takes rows, kind, columns = 2 * rows\n${rows} x ${columns} ${kind} of ${tile}\n"}};
  CHECK(render_template(tree, "t/f/kernel.cu", kBindings) == "// part\n8 x 16 a, b of 64\n// part\n1 x 8 d of 64\n");
}

TEST_CASE("a file that says what it takes sees no other names of the including one") {
  SourceTree tree = {{"t/f/kernel.cu", "//% let own = 1\n//% include \"part.cuh\" with a = own\n${own}\n"},
                     {"t/f/part.cuh", "//% takes a\n//% let own = a + 1\n//% include \"inner.cuh\"\n"},
                     {"t/f/inner.cuh", "${own} ${a}\n"}};
  CHECK(render_template(tree, "t/f/kernel.cu", kBindings) == "2 1\n1\n");
  tree["t/f/part.cuh"] = "//% takes a\n${own}\n";
  CHECK(complaint_of([&] { render_template(tree, "t/f/kernel.cu", kBindings); }) ==
        "t/f/part.cuh:2: 'own': unknown name 'own'");
  tree["t/f/part.cuh"] = "${own}\n";
  tree["t/f/kernel.cu"] = "//% let own = 1\n//% include \"part.cuh\"\n";
  CHECK(render_template(tree, "t/f/kernel.cu", kBindings) == "1\n");
}

TEST_CASE("what a file takes is the family's value where nothing is passed, ahead of the file's own default") {
  const SourceTree tree = {
      {"t/f/kernel.cu", "//% include \"part.cuh\"\n//% include \"part.cuh\" with tile = 1\n${tile}\n"},
      {"t/f/part.cuh", "//% takes tile = 7, window = tile\n${tile} ${window}\n"}};
  CHECK(render_template(tree, "t/f/kernel.cu", kBindings) == "64 64\n1 1\n64\n");
  CHECK(render_template({{"t/f/kernel.cu", tree.at("t/f/part.cuh")}}, "t/f/kernel.cu", {}) == "7 7\n");
}

TEST_CASE("a slot's file is given what it takes too") {
  const SourceTree tree = {{"t/f/kernel.cu", "//% slot rescale with rows = stages\n"},
                           {"t/f/rescale/lazy.cu", "//% takes rows\nlazy ${rows}\n"}};
  CHECK(render_template(tree, "t/f/kernel.cu", kBindings) == "lazy 3\n");
}

TEST_CASE("what is passed and what is taken must agree") {
  const auto complaint = [](const std::string& kernel, const std::string& part) {
    return complaint_of([&] {
      render_template({{"t/f/kernel.cu", "\n" + kernel}, {"t/f/part.cuh", part}}, "t/f/kernel.cu", kBindings);
    });
  };
  CHECK(complaint("//% include \"part.cuh\" with b = 1\n", "//% takes a, b\n") ==
        "t/f/kernel.cu:2: t/f/part.cuh takes 'a', which is not passed");
  CHECK(complaint("//% include \"part.cuh\" with a = 1, b = 2\n", "//% takes a\n") ==
        "t/f/kernel.cu:2: 'b' is passed, but t/f/part.cuh does not take it");
  CHECK(complaint("//% include \"part.cuh\" with a = 1\n", "${a}\n") ==
        "t/f/kernel.cu:2: 'a' is passed, but t/f/part.cuh declares nothing that it takes");
  CHECK(complaint("//% include \"part.cuh\" with a\n", "//% takes a\n") ==
        "t/f/kernel.cu:2: 'a' is passed, but has no value here");
  CHECK(complaint("//% takes a\n", "") == "t/f/kernel.cu:2: 'a' has no value: nothing includes this file");
}

TEST_CASE("the syntax of passing and taking is checked") {
  CHECK(render_complaint("//% include \"a\" of b\n") ==
        "t/f/kernel.cu:1: unexpected 'of b' after 'include': 'with NAME = EXPRESSION, ...' may follow");
  CHECK(render_complaint("//% slot rescale a = 1\n") ==
        "t/f/kernel.cu:1: unexpected 'a = 1' after 'slot': 'with NAME = EXPRESSION, ...' may follow");
  CHECK(render_complaint("//% include \"a\" with 2x\n") == "t/f/kernel.cu:1: '2x' is not a name");
  CHECK(render_complaint("//% include \"a\" with x = \n") == "t/f/kernel.cu:1: expression expected");
  CHECK(render_complaint("//% include \"a\" with x, x = 2\n") == "t/f/kernel.cu:1: 'x' is there twice");
  CHECK(render_complaint("//% takes\n") == "t/f/kernel.cu:1: '' is not a name");
  CHECK(render_complaint("//% takes x = 1\n//% takes y = 1\n") == "t/f/kernel.cu:2: a file has one 'takes'");
  CHECK(render_complaint("//% let y = 1\n//% takes x = 1\n") ==
        "t/f/kernel.cu:2: 'takes' stands ahead of all other directives of a file");
}

TEST_CASE("slot includes the file of the gene's allele") {
  SourceTree tree = {{"t/f/kernel.cu", "a\n//% if swizzle\n//%   slot rescale\n//% end\nb\n"},
                     {"t/f/rescale/lazy.cu", "lazy ${tile}\n"},
                     {"t/f/rescale/eager.cu", "eager\n"}};
  CHECK(render_template(tree, "t/f/kernel.cu", kBindings) == "a\nlazy 64\nb\n");
  const auto complaint = [&](Bindings bindings) {
    return complaint_of([&] { render_template(tree, "t/f/kernel.cu", bindings); });
  };
  CHECK(complaint({{"swizzle", true}, {"rescale", std::string("other")}}) ==
        "t/f/kernel.cu:3: slot 'rescale': no file t/f/rescale/other.cu");
  CHECK_THAT(complaint({{"swizzle", true}, {"rescale", std::string("../secret")}}),
             ContainsSubstring("not a file's name"));
  CHECK_THAT(complaint({{"swizzle", true}, {"rescale", number(1)}}), ContainsSubstring("not a file's name"));
  CHECK_THAT(complaint({{"swizzle", true}}), ContainsSubstring("no gene of this name"));
}

TEST_CASE("errors name the file and line they are in") {
  CHECK(
      render_complaint("a\n//% iff x\n") ==
      "t/f/kernel.cu:2: unknown directive 'iff'; there are if, elif, else, for, let, include, slot, takes, probe, end");
  CHECK_THAT(render_complaint("a\n\nb ${tile + }\n"), ContainsSubstring("t/f/kernel.cu:3: expression 'tile +'"));
  CHECK_THAT(render_complaint("${tile / (stages - 3)}\n"),
             ContainsSubstring("t/f/kernel.cu:1: 'tile / (stages - 3)': division by zero"));
  CHECK(render_complaint("a ${tile\n") == "t/f/kernel.cu:1: '${' without '}'");
  CHECK(render_complaint("//% if swizzle\na\n") == "t/f/kernel.cu:1: 'if' without 'end'");
  CHECK(render_complaint("a\n//% for i in 0..2\n") == "t/f/kernel.cu:2: 'for' without 'end'");
  CHECK(render_complaint("//% end\n") == "t/f/kernel.cu:1: 'end' without an open block");
  CHECK(render_complaint("//% else\n") == "t/f/kernel.cu:1: 'else' without an open block");
  CHECK_THAT(render_complaint("//% for i in 0..2\n//% else\n//% end\n"),
             ContainsSubstring(":2: 'else' where 'end' of 'for' is expected"));
  CHECK_THAT(render_complaint("//% if swizzle\n//% else\n//% else\n//% end\n"),
             ContainsSubstring(":3: 'else' where 'end' of 'if'"));
  CHECK(render_complaint("//% if swizzle\n//% end swizzle\n") == "t/f/kernel.cu:2: unexpected 'swizzle' after 'end'");
  CHECK(render_complaint("//% if\n//% end\n") == "t/f/kernel.cu:1: expression expected");
  CHECK(render_complaint("//% for i = 0..2\n//% end\n") == "t/f/kernel.cu:1: expected 'for NAME in FIRST..END'");
  CHECK(render_complaint("//% let x\n") == "t/f/kernel.cu:1: expected 'let NAME = EXPRESSION, ...'");
  CHECK(render_complaint("//% let 2x = 1\n") == "t/f/kernel.cu:1: '2x' is not a name");
  CHECK(render_complaint("//% let min = 1\n") == "t/f/kernel.cu:1: 'min' is not a name");
  CHECK(render_complaint("//% include part.cuh\n") ==
        "t/f/kernel.cu:1: expected 'include \"PATH\"' or 'include \"PATH\" with NAME = EXPRESSION, ...'");
  CHECK_THAT(render_complaint("//% include \"part.cuh\"\n"), ContainsSubstring(":1: no file \"part.cuh\""));
  CHECK(complaint_of([] { render_template({}, "t/f/kernel.cu", {}); }) == "t/f/kernel.cu: no such template");
}

TEST_CASE("an error in an included file names that file") {
  const SourceTree tree = {{"t/f/kernel.cu", "//% include \"part.cuh\"\n"}, {"t/f/part.cuh", "a\n${nobody}\n"}};
  CHECK(complaint_of([&] { render_template(tree, "t/f/kernel.cu", {}); }) ==
        "t/f/part.cuh:2: 'nobody': unknown name 'nobody'");
}

TEST_CASE("syntax is checked in branches that are not taken") {
  CHECK_THAT(render_complaint("//% if false\n${tile +}\n//% end\n"), ContainsSubstring(":2: expression"));
  CHECK_THAT(render_complaint("//% if false\n//% wrong\n//% end\n"), ContainsSubstring(":2: unknown directive"));
}

TEST_CASE("paths cannot leave the templates folder") {
  for (const char* path : {"../secret.cuh", "/etc/passwd", "include/../../x", "a//b", "./x", "a\\b"}) {
    INFO(path);
    CHECK_THAT(render_complaint("//% include \"" + std::string(path) + "\"\n"),
               ContainsSubstring("a path inside the templates folder"));
  }
}

TEST_CASE("loops, includes, blocks and output are bounded") {
  CHECK_THAT(render_complaint("//% for i in 0..1000000000\n//% end\n"), ContainsSubstring("loop iterations"));
  CHECK_THAT(render_complaint("//% for i in 0..1000\n//% for j in 0..1000\n//% end\n//% end\n"),
             ContainsSubstring("loop iterations"));
  std::string ifs, pieces;
  for (int i = 0; i < 14'000; ++i) {
    ifs += "//% if 0\n//% end\n";
    pieces += "${''}";
  }
  for (const std::string& body : {ifs, pieces + "\n"})
    CHECK_THAT(render_complaint("//% for i in 0..99999\n" + body + "//% end\n"),
               ContainsSubstring("t/f/kernel.cu:") && ContainsSubstring("more than 10000000 steps"));
  CHECK_THAT(render_complaint("//% include \"kernel.cu\"\n"), ContainsSubstring("does t/f/kernel.cu include itself?"));
  std::string nested;
  for (int i = 0; i < 100; ++i) nested += "//% if true\n";
  CHECK_THAT(render_complaint(nested), ContainsSubstring("blocks nested deeper"));
  CHECK_THAT(render_complaint("//% for i in 0..90000\n" + std::string(100, 'x') + "\n//% end\n"),
             ContainsSubstring("characters of output"));
}

TEST_CASE("each rendered line knows the template and the line that it comes from") {
  const SourceTree tree = {
      {"t/f/kernel.cu", "first\n//% include \"include/part.cuh\"\n//% for i in 0..2\n${i}\n//% end\nlast\n"},
      {"include/part.cuh", "//% # remark\npart\nmore\n"}};
  const Rendered rendered = render_with_lines(tree, "t/f/kernel.cu", {});
  CHECK(rendered.text == "first\npart\nmore\n0\n1\nlast\n");
  const std::vector<std::pair<std::string, std::size_t>> origins = {{"t/f/kernel.cu", 1},    {"include/part.cuh", 2},
                                                                    {"include/part.cuh", 3}, {"t/f/kernel.cu", 4},
                                                                    {"t/f/kernel.cu", 4},    {"t/f/kernel.cu", 6}};
  for (std::size_t i = 0; i < origins.size(); ++i)
    CHECK(rendered.lines.origin_of(i + 1) == LineMap::Origin{origins[i].first, origins[i].second});
  CHECK(!rendered.lines.origin_of(0));
}

TEST_CASE("CUDA's own includes are read in place where the tree has the file") {
  const SourceTree tree = {
      {"t/f/kernel.cu", "#include \"../a.h\"\n  #  include \"sub/b.h\"\n#include \"cuda_fp16.h\"\nend\n"},
      {"t/a.h", "#ifndef A\n#define A\n#include \"a.h\"\na ${1 + 1}\n#endif\n"},
      {"t/f/sub/b.h", "#include \"../../a.h\"\nb\n"}};
  const std::string a = "#ifndef A\n#define A\n\na 2\n#endif\n";
  const Rendered rendered = render_with_lines(tree, "t/f/kernel.cu", {});
  CHECK(rendered.text == a + a + "b\n#include \"cuda_fp16.h\"\nend\n");
  CHECK(rendered.lines.origin_of(11) == LineMap::Origin{"t/f/sub/b.h", 2});
  CHECK(files_included_by(tree, "t/f/kernel.cu") == std::set<std::string>{"t/f/kernel.cu", "t/a.h", "t/f/sub/b.h"});
}

TEST_CASE("CUDA's own includes find files of the templates folder too") {
  const SourceTree tree = {{"t/f/kernel.cu", "#include \"include/a.cuh\"\n"},
                           {"include/a.cuh", "#pragma once\n#include \"b.cuh\"\na\n"},
                           {"include/b.cuh", "b\n"}};
  CHECK(render_template(tree, "t/f/kernel.cu", {}) == "\nb\na\n");
  CHECK(files_included_by(tree, "t/f/kernel.cu").contains("include/b.cuh"));
}

TEST_CASE("a file that is to be included once is read once, also where only the compiler knows whether it was") {
  SourceTree tree = {{"t/f/kernel.cu", "#include \"a.h\"\n#include \"a.h\"\n#if X\n#include \"a.h\"\n#endif\n"},
                     {"t/f/a.h", "#pragma once\na\n"}};
  CHECK(render_template(tree, "t/f/kernel.cu", {}) == "\na\n\n#if X\n\n#endif\n");
  tree["t/f/kernel.cu"] = "#if X\n#include \"a.h\"\n#endif\n#include \"a.h\"\n";
  // The guard of the first is the second's, too.
  CHECK(render_template(tree, "t/f/kernel.cu", {}) ==
        "#if X\n#ifndef EVO_ONCE_t_f_a_h\n#define EVO_ONCE_t_f_a_h\n\na\n#endif\n#endif\n"
        "#ifndef EVO_ONCE_t_f_a_h\n#define EVO_ONCE_t_f_a_h\n\na\n#endif\n");
}

TEST_CASE("messages name template lines in place of rendered ones") {
  LineMap lines;
  lines.add(1, "t/f/kernel.cu", 3);
  lines.add(2, "include/a.cuh", 8);
  CHECK(lines.translated("kernel.cu(1): error: no\n  x = 1;\n  detected at line 3\n") ==
        "t/f/kernel.cu:3: error: no\n  x = 1;\n  detected at include/a.cuh:9\n");
  CHECK(lines.translated("kernel k, line 2, block (0, 0, 0): also in line 1") ==
        "kernel k, include/a.cuh:8, block (0, 0, 0): also in t/f/kernel.cu:3");
  CHECK(lines.translated("it runs in lines 2 to 4") == "it runs in include/a.cuh:8 to 10");
  CHECK(lines.translated("it runs in lines 1 to 2") == "it runs in t/f/kernel.cu:3 to include/a.cuh:8");
  // Lines of headers and of PTX are none of the template's.
  const std::string header = "h.h(2): error: no\n  instantiation of \"g\" at line 1\n  \"f\" at line 2 of ";
  CHECK(lines.translated(header + "kernel.cu\n") == header.substr(0, header.find("line 2 of")) + "include/a.cuh:8\n");
  for (const char* other : {"PTX line 1", "ptxas x, line 1; error", "declared at line 1 of b.h", "online 1", "line x"})
    CHECK(lines.translated(other) == other);
  CHECK(LineMap().translated("kernel.cu(1): error") == "kernel.cu(1): error");
}

TEST_CASE("a line of text may have expressions") {
  CHECK(TextTemplate::parse("reduce<${tile * 2}, ${'}'}>").render({{"tile", Value(std::int64_t{32})}}) ==
        "reduce<64, }>");
  CHECK(TextTemplate::parse("scale").render({}) == "scale");
  CHECK(complaint_of([] { TextTemplate::parse("${"); }) == "'${' without '}'");
  CHECK(complaint_of([] { TextTemplate::parse("${x}").render({}); }) == "'x': unknown name 'x'");
}

TEST_CASE("the compiler's headers do not see macros that expressions fill, and the code behind them does") {
  CHECK(
      render(
          "#define tile ${tile}\n#define F(x) x + ${tile}\n#define own 1\n#include <a.h>\n\n#include <b.h>\ntile\n") ==
      "#define tile 64\n#define F(x) x + 64\n#define own 1\n#undef tile\n#include <a.h>\n\n#include <b.h>\n"
      "#define tile 64\ntile\n");
  CHECK(render("#define tile ${tile}\n#if A\n#include <a.h>\n#endif\n#undef tile\n#include <b.h>\n") ==
        "#define tile 64\n#if A\n#undef tile\n#include <a.h>\n#define tile 64\n#endif\n#undef tile\n#include <b.h>\n");
  const Rendered rendered =
      render_with_lines({{"t/f/kernel.cu", "#define tile ${tile}\n#include <a.h>\nx\n"}}, "t/f/kernel.cu", kBindings);
  CHECK(rendered.lines.origin_of(5)->line == 3);
}
