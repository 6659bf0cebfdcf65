#include "engine/source/compile_options.h"

#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("nvcc's options are read with one dash or two, as one text or several") {
  const CompileOptions options = read_compile_options({"-use_fast_math --std=c++20", "-std", "c++17", "-I", "inc",
                                                       "-Iinc -O3", "--fmad=false", "-D N=4", "-DX", "-maxrregcount 48",
                                                       "-Xcompiler -Wall", "", "-gencode", "arch=compute_90"});
  CHECK(options.kept == std::vector<std::string>{"-use_fast_math", "-std=c++20", "-std=c++17", "-fmad=false"});
  CHECK(options.max_registers == "48");
  CHECK(options.macros == std::vector<std::pair<std::string, std::string>>{{"N", "4"}, {"X", "1"}});
}

TEST_CASE("options that change what nobody here knows are refused") {
  for (const char* option :
       {"-Xptxas", "-std=c++99", "-fmad", "-use_fast_math=1", "--pre-include=/etc/passwd", "file.cu"})
    CHECK_THAT(complaint_of([&] { read_compile_options({option}); }), ContainsSubstring("is not supported; there are"));
}

TEST_CASE("a source says how it is compiled in lines of its own") {
  CHECK(compile_options_line({}) == "");
  const std::string source =
      compile_options_line({"-use_fast_math", "-std=c++20"}) + "int a;  // evo: compile with -x\n";
  CHECK(compile_options_in(source) == std::vector<std::string>{"-use_fast_math", "-std=c++20"});
  CHECK_THAT(complaint_of([&] { compile_options_in("// evo: compile with -DX=1\n"); }), ContainsSubstring("#define"));
}
