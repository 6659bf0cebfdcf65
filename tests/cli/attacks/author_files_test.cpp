#include "tests/cli/ten_lines.h"

using namespace evo::testing;

namespace {

constexpr const char* kSecret = "-----BEGIN OPENSSH PRIVATE KEY-----";

/// home/work/conv.json, as somebody else has written it, beside home/secret/id_rsa.
class Home {
 public:
  Home() {
    write_convolution(bench_);
    std::filesystem::create_directories(bench_ / "work");
    for (const char* file : {"conv.cu", "conv.json"}) std::filesystem::rename(bench_ / file, bench_ / "work" / file);
    for (const char* file : {"secret/id_rsa", "secret/key.cu"}) bench_.write(file, kSecret);
  }
  void include(const std::string& line) { bench_.write("work/conv.cu", line + bench_.read("work/conv.cu")); }

  /// Every command that reads the file refuses it with these words, and writes nothing.
  void check_refuses(const std::vector<std::string>& parts) {
    const std::vector<std::string> before = bench_.files();
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"tune", "work/conv.json", "--device", "vgpu", "--evals", "1"},
          {"tune", "work/conv.json", "--expand", "full"},
          {"check", "work/conv.json", "--device", "vgpu"}}) {
      check_refused(bench_.evo(command), 2, parts);
    }
    CHECK(bench_.files() == before);
  }
  const Bench& bench() const { return bench_; }

 private:
  Bench bench_;
};

}  // namespace

TEST_CASE("an include that leaves the short form's folder is refused, where no compiler would read it too") {
  for (const char* path : {"../secret/id_rsa", "sub/../../secret/id_rsa"}) {
    Home home;
    std::filesystem::create_directories(home.bench() / "work/sub");
    home.include("#if 0\n#include \"" + std::string(path) + "\"\n#endif\n");
    home.check_refuses({"conv.cu:2: #include \"" + std::string(path) + "\"", "secret/id_rsa lies outside of"});
  }
  Home home;
  home.include("#include \"" + (home.bench() / "secret/id_rsa").string() + "\"\n");
  home.check_refuses({"conv.cu:1: #include", "secret/id_rsa lies outside of"});
}

TEST_CASE("a link below the short form's folder does not lead out of it") {
  Home home;
  std::filesystem::create_symlink("../secret/id_rsa", home.bench() / "work/tile.h");
  home.include("#include \"tile.h\"\n");
  home.check_refuses({"conv.cu:1: #include \"tile.h\"", "secret/id_rsa lies outside of"});

  Home folders;
  std::filesystem::create_directory_symlink("../secret", folders.bench() / "work/include");
  folders.include("#ifdef NEVER\n#include \"include/id_rsa\"\n#endif\n");
  folders.check_refuses({"conv.cu:2: #include \"include/id_rsa\"", "secret/id_rsa lies outside of"});
}

TEST_CASE("kernels, references, genes and drawn inputs come from below the short form's folder") {
  for (const auto& [key, value] :
       {std::pair<std::string, nlohmann::ordered_json>{"kernel", "../secret/key.cu:convolution"},
        {"reference", "../secret/key.cu:convolution"},
        {"genes", "../secret/id_rsa"}}) {
    Home home;
    auto form = nlohmann::ordered_json::parse(home.bench().read("work/conv.json"));
    form[key] = value;
    home.bench().write("work/conv.json", form.dump());
    home.check_refuses({key, "lies outside of"});
  }
}

TEST_CASE("a link to a file of the same folder is read") {
  Home home;
  std::filesystem::rename(home.bench() / "work/conv.cu", home.bench() / "work/real.cu");
  std::filesystem::create_symlink("real.cu", home.bench() / "work/conv.cu");
  CHECK(home.bench().evo({"tune", "work/conv.json", "--expand", "full"}).code == 0);
}

TEST_CASE("a file that is not in UTF-8 is refused with the byte, and the mark of one that is does not matter") {
  const ConvolutionBench bench;
  const std::string kernel = bench.read("conv.cu"), form = bench.read("conv.json");
  const auto check = [&] { return bench.evo({"check", "conv.json", "--device", "vgpu"}); };
  for (const char* name : {"conv.cu", "conv.json"}) {
    const std::string text = bench.read(name);
    std::string wide("\xff\xfe");
    for (const char c : text) wide += {c, '\0'};
    bench.write(name, wide);
    check_refused(check(), 2, {std::string(name) + " is no text in UTF-8: byte 0 is 0xff; save it as UTF-8"});
    bench.write(name, text + "// \xff\n");
    check_refused(check(), 2, {std::string(name) + " is no text in UTF-8", "is 0xff"});
    bench.write(name, "\xef\xbb\xbf" + text);
  }
  CHECK(check().code == 0);
}

TEST_CASE("numbers beside a task are no text") {
  const ToyBench bench;
  bench.write("templates/toy/rows.npy", std::string("\x93NUMPY\x01\0v", 9));
  const Outcome outcome = bench.evo({"space", "--task", "toy", "--device", "vgpu"});
  INFO(outcome.err);
  CHECK(outcome.code == 0);
}

TEST_CASE("a name or a list of a million characters is refused in one line") {
  const ConvolutionBench bench;
  const std::string name(900'000, 'x');
  bench.write("long.json",
              R"({"name": "n", "axes": {"M": {"type": "var"}}, "inputs": {"A": {"shape": ["M"], "dtype": "float32"}},
    "outputs": {"C": {"shape": ["M"], "dtype": "float32"}}, "reference": "def )" +
                  name + R"("})");
  check_refused(bench.evo({"import", "long.json"}), 2, {"long.json: "});
  nlohmann::ordered_json form = nlohmann::ordered_json::parse(bench.read("conv.json"));
  form.erase("shapes");
  form.erase("grid");
  std::string dims = "1";
  while (dims.size() < 400'000) dims += ",1";
  form["arguments"][0] = "y=out float[" + dims + "]";
  bench.write("conv.json", form.dump());
  check_refused(bench.evo({"check", "conv.json", "--device", "vgpu"}), 2, {"conv.json: "});
}

TEST_CASE("a line of the preprocessor that would end the compiler's process is a failure to compile") {
  const Bench bench;
  const std::string name(100'000, 'x'), kernel = "extern \"C\" __global__ void k(float* x) { x[0] = 1; }\n";
  for (const std::string& lines : {"#line 1 \"" + name + "\"\n", "#define NAME \"" + name + "\"\n#line 1 NAME\n",
                                   "# \\\nline 1 \"" + name + "\"\n"}) {
    bench.write("k.cu", "\n" + lines + kernel);
    check_refused(bench.evo({"vgpu", "k.cu", "--arg", "x=float[1]"}), 2,
                  {"line 2: a line of the preprocessor has more"});
  }
}
