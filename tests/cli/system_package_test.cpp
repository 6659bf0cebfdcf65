#include <sys/wait.h>

#include <cstdlib>

#include "bench.h"

using namespace evo::testing;

namespace {

/// The folder of the build: evo lies in its cli/.
const std::string kBuild = std::filesystem::path(EVO_BINARY).parent_path().parent_path().string();

/// Runs a line for sh in a folder, with what it prints in the file `log` there. Fails the test unless it succeeds.
std::string output_of(const Bench& bench, const std::string& line) {
  const std::string log = (bench / "log").string();
  const int status = std::system(
      ("cd '" + bench.folder().string() + "' && unset EVO_TEMPLATES && { " + line + "; } > '" + log + "' 2>&1")
          .c_str());
  std::string text = bench.read("log");
  INFO(line << "\n" << text);
  REQUIRE(WEXITSTATUS(status) == 0);
  return text;
}

void check_installed(const Bench& bench, const std::string& root) {
  for (const std::string file :
       {"bin/evo", "share/evo/templates/fp8_sdpa/task.json", "share/evo/rivals/torch_library.py",
        "share/bash-completion/completions/evo", "share/zsh/site-functions/_evo",
        "share/fish/vendor_completions.d/evo.fish", "share/man/man1/evo.1", "share/man/man1/evo-run.1",
        "share/doc/evo/LICENSE", "share/evo/docs/trust.md"}) {
    INFO(file);
    CHECK(std::filesystem::is_regular_file(bench / (root + "/" + file)));
  }
  // In a folder of its own evo finds the templates that were installed with it.
  CHECK(holds(output_of(bench, root + "/bin/evo tasks"), "in " + (bench / (root + "/share/evo/templates")).string()));
  CHECK(holds(output_of(bench, root + "/bin/evo baseline --list"),
              (bench / (root + "/share/evo/rivals/torch_library.py")).string()));
  // And its messages name the pages where they are.
  CHECK(holds(output_of(bench, root + "/bin/evo run --help"),
              "(" + (bench / (root + "/share/evo/docs/proposer.md")).string() + ")"));
  CHECK(output_of(bench, root + "/bin/evo complete run --task fp8_q") == "words\nfp8_qkt\t\n");
}

}  // namespace

TEST_CASE("cmake --install installs evo with templates, completions, manual pages and licence") {
  const Bench bench;
  output_of(bench, "cmake --install '" + kBuild + "' --component evo --prefix '" + (bench / "root").string() + "'");
  check_installed(bench, "root");
}

TEST_CASE("the Debian package holds evo, templates, completions, manual pages and licence, and names what it needs",
          "[sweep]") {
  if (std::system("command -v dpkg-deb >/dev/null") != 0) SKIP("no dpkg-deb: no Debian package");
  const Bench bench;
  output_of(bench, "cpack --config '" + kBuild + "/CPackConfig.cmake' -B .");
  output_of(bench, "dpkg-deb -x evo_*.deb root");
  check_installed(bench, "root/usr");
  CHECK(std::filesystem::is_regular_file(bench / "root/usr/share/zsh/vendor-completions/_evo"));
  CHECK(holds(bench.read("root/usr/share/doc/evo/copyright"), "Apache License"));
  CHECK(output_of(bench, "dpkg-deb -f evo_*.deb Package Version") == "Package: evo\nVersion: 0.2.0\n");
  if (std::system("command -v dpkg-shlibdeps >/dev/null && command -v file >/dev/null") == 0)
    CHECK(holds(output_of(bench, "dpkg-deb -f evo_*.deb Depends"), "libc6"));
}
