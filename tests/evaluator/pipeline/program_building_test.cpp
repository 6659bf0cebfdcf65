#include "evaluator/pipeline/program_building.h"

#include <catch2/catch_test_macros.hpp>
#include <future>
#include <utility>

using namespace evo;

namespace {

/// A job whose only program became this.
CandidateJob compiled_to(CompilePool::Result result) {
  CandidateJob job;
  Program& program = job.candidate.programs.emplace_back();
  program.plans["s"];
  std::promise<CompilePool::Result> promise;
  promise.set_value(std::move(result));
  job.compiled.push_back(promise.get_future().share());
  return job;
}

DeviceInfo building_device() {
  DeviceInfo info;
  info.arch = "sm_90a";
  return info;
}

}  // namespace

TEST_CASE("a candidate whose programs compiled may run") {
  Binary binary;
  binary.build.cubin_hash = "c0";
  CandidateJob job = compiled_to(binary);
  finish_building(job, building_device());
  CHECK(job.built.verdict == Verdict::valid);
  REQUIRE(job.built.builds.size() == 1);
  CHECK(job.built.builds[0].cubin_hash == "c0");
  CHECK(job.built.builds[0].arch == "sm_90a");
  CHECK(job.binaries.size() == 1);
}

TEST_CASE("the first program that does not compile gives the verdict, and each its log") {
  CandidateJob job = compiled_to(Failure{Verdict::compile_failed, "no semicolon", false, "the log"});
  const CandidateJob second = compiled_to(Failure{Verdict::timed_out, "too long", false, "another log"});
  job.candidate.programs.push_back(second.candidate.programs[0]);
  job.compiled.push_back(second.compiled[0]);
  finish_building(job, building_device());
  CHECK(job.built.verdict == Verdict::compile_failed);
  CHECK(job.built.reason == "no semicolon");
  REQUIRE(job.built.builds.size() == 2);
  CHECK(job.built.builds[0].log == "the log");
  CHECK(job.built.builds[1].log == "another log");
  CHECK(job.binaries.empty());
}

TEST_CASE("the key of builds is the same for the same machine code and launches alone") {
  Candidate candidate, other;
  candidate.programs.resize(1);
  other.programs.resize(1);
  other.programs[0].plans["s"].launches.resize(1);
  Build build, another;
  build.cubin_hash = "c0";
  another.cubin_hash = "c1";
  CHECK(key_of_builds(candidate, {build}) == key_of_builds(candidate, {build}));
  CHECK(key_of_builds(candidate, {build}) != key_of_builds(candidate, {another}));
  CHECK(key_of_builds(candidate, {build}) != key_of_builds(other, {build}));
}
