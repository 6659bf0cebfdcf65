#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/signature/signature.h"
#include "engine/base/text.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/compile/nvrtc_compiler.h"

namespace evo::cli {
namespace {

struct BenchRequest {
  std::string expected;
  bool json = false;
};

/// A part of the signature after its work.
struct PartDone {
  std::string name;
  std::string hash;
  double seconds = 0;
  std::vector<std::string> lines;
};

/// The hashes of the parts in a signature. Throws usage_error for a text that is none.
std::vector<std::string> hashes_in(const std::string& signature, std::size_t parts) {
  std::vector<std::string> hashes = split(signature, '-');
  if (hashes.size() != parts)
    throw usage_error(fmt::format("--expect {}: a signature has {} parts, as evo bench prints it", signature, parts));
  return hashes;
}

PartDone done(const SignaturePart& part) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::string> lines = part.lines();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return {part.name, signature_of(lines), took.count(), std::move(lines)};
}

std::string signature_of(const std::vector<PartDone>& parts) {
  return joined(parts, "-", &PartDone::hash);
}

std::string bench_document(const std::vector<PartDone>& parts, const std::string& nvrtc) {
  nlohmann::ordered_json json = json_document("bench");
  json["signature"] = signature_of(parts);
  json["nvrtc_version"] = nvrtc;
  json["parts"] = nlohmann::ordered_json::array();
  for (const PartDone& part : parts)
    json["parts"].push_back(
        {{"name", part.name}, {"hash", part.hash}, {"seconds", part.seconds}, {"lines", part.lines}});
  return json_text(json);
}

int bench(const BenchRequest& request) {
  const std::vector<SignaturePart> parts = signature_parts();
  std::vector<std::string> expected;
  if (!request.expected.empty()) expected = hashes_in(request.expected, parts.size());
  const std::string nvrtc = make_nvrtc_compiler()->version();

  std::vector<PartDone> finished;
  bool as_expected = true;
  for (const SignaturePart& part : parts) {
    const PartDone& now = finished.emplace_back(done(part));
    const bool same = expected.empty() || expected[finished.size() - 1] == now.hash;
    as_expected = as_expected && same;
    if (request.json) continue;
    print("{:<20}{}{:>7.1f} s{}\n", now.name, now.hash, now.seconds,
          same ? "" : fmt::format("  changed: {} expected", expected[finished.size() - 1]));
    std::fflush(stdout);
  }
  print("{}", request.json ? bench_document(finished, nvrtc)
                           : fmt::format("{}  (NVRTC {})\n", signature_of(finished), nvrtc));
  return as_expected ? kDone : kNothingValid;
}

}  // namespace

void add_bench(CLI::App& app, Invocation& invocation) {
  auto [command, request] = add_command(
      app, invocation, "bench",
      "Print evo's signature, which changes when its behaviour does: fixed searches, hashed part by part", bench);
  add_option(command, "--expect", "SIGNATURE", request.expected,
             "Compare with this signature; exits with 1 and names the parts that differ when it is another");
  add_json_flag(command, request.json);
}

}  // namespace evo::cli
