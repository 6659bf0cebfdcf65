#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <limits>
#include <memory>
#include <set>

#include "engine/base/hash.h"
#include "tests/population/fixture.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

TEST_CASE("every field of a run is read back") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const RunInfo info = run_info();
  const RunId id = store.begin_run(info);

  const RunRow row = store.run(id).value();
  CHECK(row.id == id);
  CHECK(row.status == RunStatus::running);
  CHECK(row.started_at.size() == 24);
  CHECK_FALSE(row.finished_at);
  CHECK(row.evaluated == 0);
  CHECK_FALSE(row.best_us);
  CHECK(row.info.task == info.task);
  CHECK(row.info.task_hash == info.task_hash);
  CHECK(row.info.device.id == "cuda:0");
  CHECK(row.info.device.name == "Test GPU");
  CHECK(row.info.device.uuid == "GPU-1");
  CHECK(row.info.device.driver == "580.1");
  CHECK(row.info.device.facts == info.device.facts);
  CHECK(row.info.target.options == info.target.options);
  REQUIRE(row.info.target.validated.size() == 2);
  CHECK(row.info.target.validated[1].name == "tail");
  CHECK(row.info.target.validated[1].parameters == info.target.validated[1].parameters);
  CHECK(row.info.objective == "latency mission out=f16");
  CHECK(row.info.seed == 7);
  CHECK(row.info.salt == 0xfedcba9876543210u);
  CHECK(row.info.evaluation_limit == 40);
  CHECK(row.info.time_limit_s == 12.5);
  CHECK(row.info.width == 4);
  CHECK(row.info.command_line == info.command_line);
  CHECK(row.info.nvrtc_version == "13.0");
}

TEST_CASE("the files that a task hash stands for are kept, those of an older hash too") {
  Store store = Store::open(":memory:", Store::Mode::write);
  store.begin_run(run_info("old"));
  store.begin_run(run_info("new"));
  store.begin_run(run_info("new"));
  CHECK(store.task_files("old") == run_info("old").files);
  CHECK(store.task_files("new") == run_info("new").files);
  CHECK(store.task_files("never seen").empty());
}

TEST_CASE("only the files that a task's hash covers are taken from a tree") {
  const SourceTree tree{{"toy/task.json", "1"},  {"toy/plain/kernel.cu", "toy2/plain/part.cuh"},
                        {"toy2/task.json", "3"}, {"toy2/plain/part.cuh", "4"},
                        {"include/a.cuh", "5"},  {"toy2/plain/other.cuh", "6"}};
  CHECK(files_of_task(tree, "toy") == SourceTree{{"toy/task.json", "1"},
                                                 {"toy/plain/kernel.cu", "toy2/plain/part.cuh"},
                                                 {"toy2/plain/part.cuh", "4"},
                                                 {"include/a.cuh", "5"}});
}

TEST_CASE("a run goes on for other connections while its process holds it, and is interrupted when that is gone") {
  const TempFolder folder;
  const fs::path path = folder / "evo.db";
  auto begun = std::make_unique<Store>(Store::open(path, Store::Mode::write));
  const RunId id = begun->begin_run(run_info());
  const Store reads = Store::open(path, Store::Mode::read);
  Store other = Store::open(path, Store::Mode::change);
  CHECK(reads.run(id)->status == RunStatus::running);
  CHECK_THAT(error_of([&] { other.reopen_run(id); }),
             ContainsSubstring(fmt::format("run {} goes on in process {} on ", id, ::getpid())));
  begun.reset();
  CHECK(reads.run(id)->status == RunStatus::interrupted);
  CHECK(reads.runs().front().status == RunStatus::interrupted);
  other.reopen_run(id);
  CHECK(reads.run(id)->status == RunStatus::running);
  other.finish_run(id, RunStatus::finished);
  CHECK(reads.run(id)->status == RunStatus::finished);
  std::size_t files = 0;
  for (const auto& file : fs::directory_iterator(folder.path()))
    files += file.path().filename().string().find("-run-") != std::string::npos ? 1 : 0;
  CHECK(files == 0);
}

TEST_CASE("a run whose process was killed is interrupted although its file stays") {
  const TempFolder folder;
  const fs::path path = folder / "evo.db";
  const pid_t child = ::fork();
  if (child == 0) {
    Store store = Store::open(path, Store::Mode::write);
    store.begin_run(run_info());
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(fs::exists(path.string() + "-run-1"));
  Store store = Store::open(path, Store::Mode::change);
  CHECK(store.run(1)->status == RunStatus::interrupted);
  store.reopen_run(1);
  CHECK(store.run(1)->status == RunStatus::running);
}

TEST_CASE("a finished run has an end and a status, and a resumed one runs again") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const RunId id = store.begin_run(run_info());
  store.finish_run(id, RunStatus::interrupted);
  CHECK(store.run(id)->status == RunStatus::interrupted);
  CHECK(store.run(id)->finished_at.value().size() == 24);

  const RunInfo resumed = store.reopen_run(id, 100);
  CHECK(resumed.evaluation_limit == 100);
  CHECK(resumed.seed == 7);
  CHECK(resumed.files == run_info().files);
  CHECK(store.run(id)->status == RunStatus::running);
  CHECK_FALSE(store.run(id)->finished_at);
  CHECK(store.run(id)->info.evaluation_limit == 100);
  CHECK(store.reopen_run(id).evaluation_limit == 100);
}

TEST_CASE("a run that ended itself does not do so any more where it is resumed with a limit, and keeps until when") {
  Store store = Store::open(":memory:", Store::Mode::write);
  RunInfo info = run_info();
  info.settles = true;
  info.until_us = 12.5;
  const RunId id = store.begin_run(info);
  CHECK(store.reopen_run(id).settles);
  store.reopen_run(id, 100, 60);
  const RunInfo after = store.run(id)->info;
  CHECK_FALSE(after.settles);
  CHECK(after.settled_until == 60);
  CHECK(after.until_us == 12.5);
}

TEST_CASE("the error for a run that does not exist names it") {
  Store store = Store::open(":memory:", Store::Mode::write);
  CHECK_FALSE(store.run(12));
  CHECK(store.runs().empty());
  CHECK_THAT(error_of([&] { store.reopen_run(12); }), ContainsSubstring("no run 12"));
  CHECK_THAT(error_of([&] { store.finish_run(12, RunStatus::finished); }), ContainsSubstring("no run 12"));
  CHECK_THAT(error_of([&] { store.archive(12); }), ContainsSubstring("no run 12"));
}

TEST_CASE("every fact of a wrong answer is read back, with its candidate and in the list of a run's outcomes") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const RunId run = store.begin_run(run_info());
  Evaluation wrong = failed(Verdict::wrong_answer, "");
  wrong.mismatch = Mismatch{.shape = "mission",
                            .regime = "flat",
                            .seed = std::numeric_limits<std::uint64_t>::max(),
                            .output = "o",
                            .miss = {.kind = LimitKind::element,
                                     .error = std::numeric_limits<double>::quiet_NaN(),
                                     .allowed = 1,
                                     .elements = 7,
                                     .first = 3,
                                     .got = "nan",
                                     .reference = "2",
                                     .atol = 0.1,
                                     .rtol = 0.01},
                            .found = MismatchFound::after_timing,
                            .emulation_l2 = 0.5,
                            .looks_like = "rows 3 to 7 are wrong"};
  const auto archive = store.archive(run);
  archive->record(proposal(0), candidate(proposal(0), "source"), wrong);
  archive->record(proposal(1), candidate(proposal(1), "other"), failed(Verdict::crashed, "trap"));
  archive->settle();
  const auto check = [&](const std::optional<Mismatch>& back) {
    REQUIRE(back);
    CHECK(back->shape == "mission");
    CHECK(back->seed == wrong.mismatch->seed);
    CHECK(back->miss.kind == LimitKind::element);
    CHECK(std::isnan(back->miss.error));
    CHECK(back->miss.elements == 7);
    CHECK(back->miss.rtol == 0.01);
    CHECK(back->found == MismatchFound::after_timing);
    CHECK(back->emulation_l2 == 0.5);
    CHECK_FALSE(back->emulation_row);
    CHECK(back->looks_like == wrong.mismatch->looks_like);
  };
  check(store.candidate(store.candidate_of(run, 0).value())->evaluation.mismatch);
  const std::vector<OutcomeRow> outcomes = store.outcomes(run);
  REQUIRE(outcomes.size() == 2);
  check(outcomes[0].mismatch);
  CHECK_FALSE(outcomes[1].mismatch);
}

TEST_CASE("every field of a candidate is read back") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const RunId run = store.begin_run(run_info());
  const auto archive = store.archive(run);
  archive->record(proposal(0), candidate(proposal(0), "source 0"), failed(Verdict::compile_failed, "line 3: no"));
  archive->record(proposal(1), candidate(proposal(1), "source 1"), valid(20, "1"));
  const Proposal child = proposal(2, {1, 0});
  Evaluation evaluation = valid(12.25, "2");
  evaluation.salt = std::numeric_limits<std::uint64_t>::max();
  evaluation.errors[0].seed = std::numeric_limits<std::uint64_t>::max() - 1;
  evaluation.residency = {{"first", 72, 1024, 3}, {"second", 16, 0, 32}};
  evaluation.comparison = EliteComparison{1, Standing::slower, 1.02, 1.01, 1.03, 15};
  evaluation.notes = "occupancy 0.5";
  archive->record(child, candidate(child, "source 2"), evaluation);

  const CandidateRow row = store.candidate(store.candidate_of(run, 2).value()).value();
  CHECK(row.run == run);
  CHECK(row.ticket == 2);
  CHECK(row.op == "crossover");
  CHECK(row.parents == std::vector{*store.candidate_of(run, 1), *store.candidate_of(run, 0)});
  CHECK(row.genome == child.genome);
  CHECK(row.source_hash == candidate(child, "source 2").source_hash());
  REQUIRE(row.programs.size() == 1);
  CHECK(row.programs[0].source == "source 2");
  CHECK(row.programs[0].source_hash == hash_of_source("source 2", row.programs[0].max_registers));
  CHECK(row.programs[0].max_registers == 96);
  CHECK(row.programs[0].specialisation == Bindings{{"D", std::int64_t{64}}});
  CHECK(row.elite_rank == 1);

  const Evaluation& back = row.evaluation;
  CHECK(back.verdict == Verdict::valid);
  CHECK(back.latency_us == 12.25);
  CHECK(back.worst_relative_l2 == 0.01);
  REQUIRE(back.residency.size() == 2);
  CHECK(back.residency[0].kernel == "first");
  CHECK(back.residency[0].registers == 72);
  CHECK(back.residency[0].smem_bytes == 1024);
  CHECK(back.residency[1].blocks == 32);
  REQUIRE(back.comparison);
  CHECK(back.comparison->elite == 1);
  CHECK(back.comparison->standing == Standing::slower);
  CHECK(back.comparison->ratio_high == 1.03);
  CHECK(back.comparison->rounds == 15);
  CHECK(back.notes == "occupancy 0.5");
  CHECK_FALSE(back.mismatch);
  CHECK(back.salt == std::numeric_limits<std::uint64_t>::max());
  REQUIRE(back.builds.size() == 1);
  CHECK(back.builds[0].specialisation == "D=64");
  CHECK(back.builds[0].kernel("k").registers == 72);
  CHECK(back.builds[0].kernel("k").spill_bytes == 8);
  CHECK(back.builds[0].kernel("k").static_smem_bytes == 1024);
  CHECK(back.builds[0].kernel("k").stack_bytes == 16);
  CHECK(back.builds[0].cubin_hash == "cubin 2");
  CHECK(back.builds[0].log == "ptxas info");
  CHECK(back.builds[0].flags == "--std=c++17 -v");
  REQUIRE(back.errors.size() == 1);
  CHECK(back.errors[0].seed == std::numeric_limits<std::uint64_t>::max() - 1);
  CHECK(back.errors[0].regime == "normal");
  CHECK(back.errors[0].cosine == 0.9999);
  REQUIRE(back.timings.size() == 1);
  CHECK(back.timings[0].samples_us == std::vector{12.25, 12.25 + 0.05});
  CHECK(back.timings[0].throttled == 2);
  CHECK_FALSE(back.timings[0].modelled);
  CHECK(back.timings[0].conditions.sm_mhz_low == 1965);
  CHECK(back.timings[0].conditions.sm_mhz_high == 1980);
  CHECK(back.timings[0].conditions.memory_mhz == 3201);
  CHECK(back.timings[0].conditions.other_processes == 1);
  CHECK(back.timings[0].conditions.power_limited);
  CHECK(back.timings[0].conditions.temperature_c == 61);
  CHECK(back.ran_on.device == "cuda:1");
  CHECK(back.ran_on.uuid == "GPU-2");
  CHECK(back.ran_on.host == "node7");

  const CandidateRow broken = store.candidate(store.candidate_of(run, 0).value()).value();
  CHECK(broken.evaluation.verdict == Verdict::compile_failed);
  CHECK(broken.evaluation.reason == "line 3: no");
  CHECK_FALSE(broken.elite_rank);
  CHECK_FALSE(store.candidate(999));
  CHECK_FALSE(store.candidate_of(run, 999));
  CHECK(store.check().empty());
}

TEST_CASE("a run keeps its devices and where its candidates ran, also when databases are merged") {
  const TempFolder folder;
  const auto check = [](const Store& store) {
    const RunRow row = store.run(1).value();
    REQUIRE(row.info.further_devices.size() == 2);
    CHECK(row.info.further_devices[0].id == "cuda:1");
    CHECK(row.info.further_devices[1].uuid == "GPU-3");
    CHECK(row.info.answers == AnswerOrder::finished);
    const std::vector<PlaceCount> places = store.places(1);
    REQUIRE(places.size() == 2);
    CHECK(places[0].place.device == "cuda:0");
    CHECK(places[0].evaluated == 1);
    CHECK(places[0].machine_failed == 1);
    CHECK(places[1].place.uuid == "GPU-2");
    CHECK(places[1].evaluated == 2);
    CHECK(places[1].machine_failed == 0);
    CHECK(store.candidate(1)->evaluation.timings.at(0).conditions.temperature_c == 61);
  };
  {
    Store store = Store::open(folder / "from.db", Store::Mode::write);
    RunInfo info = run_info();
    info.answers = AnswerOrder::finished;
    info.further_devices = {info.device, info.device};
    info.further_devices[0].id = "cuda:1";
    info.further_devices[0].uuid = "GPU-2";
    info.further_devices[1].id = "cuda:2";
    info.further_devices[1].uuid = "GPU-3";
    const auto archive = store.archive(store.begin_run(info));
    archive->record(proposal(0), candidate(proposal(0), "a"), valid(20, "1"));
    archive->record(proposal(1), candidate(proposal(1), "b"), valid(21, "2"));
    Evaluation broken = failed(Verdict::harness_failed, "the cable fell out");
    broken.ran_on = {"cuda:0", "GPU-1", "node7"};
    archive->record(proposal(2), candidate(proposal(2), "c"), broken);
    Evaluation copy = valid(20, "1");
    copy.verdict = Verdict::duplicate;
    archive->record(proposal(3), candidate(proposal(3), "d"), copy);
    check(store);
  }
  Store into = Store::open(folder / "into.db", Store::Mode::write);
  into.merge(folder / "from.db");
  check(into);
}

TEST_CASE("recalled results are numbered as they were recorded") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const auto archive = store.archive(store.begin_run(run_info()));
  archive->record(proposal(1), candidate(proposal(1), "b"), valid(21, "2"));
  archive->record(proposal(0), candidate(proposal(0), "a"), valid(20, "1"));
  CHECK(archive->recall(proposal(1))->number < archive->recall(proposal(0))->number);
}

TEST_CASE("late predictions are recalled as far as there are results, later ones are dropped") {
  using Tickets = LatePredictions::Tickets;
  const TempFolder folder;
  {
    Store store = Store::open(folder / "from.db", Store::Mode::write);
    const RunId run = store.begin_run(run_info());
    const auto late = store.late_predictions(run);
    CHECK_FALSE(late->recall({0, 0}));
    late->record({3, 1}, {12, 15});
    late->record({4, 2}, {15});
    const auto archive = store.archive(run);
    archive->record(proposal(0), candidate(proposal(0), "a"), valid(20, "1"));
    archive->record(proposal(1), candidate(proposal(1), "b"), valid(21, "2"));
  }
  const auto check = [](LatePredictions& late) {
    CHECK(late.recall({3, 1}) == Tickets{12, 15});
    CHECK(late.recall({2, 1}) == Tickets());
    CHECK_FALSE(late.recall({4, 2}));
  };
  Store into = Store::open(folder / "into.db", Store::Mode::write);
  into.begin_run(run_info("another"));
  into.merge(folder / "from.db");
  check(*into.late_predictions(2));
  CHECK_FALSE(into.late_predictions(1)->recall({3, 1}));

  Store store = Store::open(folder / "from.db", Store::Mode::write);
  check(*store.late_predictions(1));
  const auto late = store.late_predictions(1);
  late->record({4, 2}, {16});
  const auto archive = store.archive(1);
  archive->record(proposal(2), candidate(proposal(2), "c"), valid(22, "3"));
  CHECK(store.late_predictions(1)->recall({4, 2}) == Tickets{16});
  // The copy goes on where the original has gone on.
  CHECK(into.merge(folder / "from.db").continued_runs == 1);
  CHECK(into.late_predictions(2)->recall({3, 1}) == Tickets{12, 15});
  CHECK(into.late_predictions(2)->recall({4, 2}) == Tickets{16});
  // A copy that is not ahead takes nothing away from a run that goes on here.
  into.late_predictions(2)->record({5, 3}, {20});
  into.merge(folder / "from.db");
  const auto going_on = into.archive(2);
  going_on->record(proposal(3), candidate(proposal(3), "d"), valid(23, "4"));
  CHECK(into.late_predictions(2)->recall({5, 3}) == Tickets{20});
  CHECK(into.check().empty());
}

TEST_CASE("not-a-number and infinite errors are kept as such") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const auto archive = store.archive(store.begin_run(run_info()));
  Evaluation evaluation = failed(Verdict::wrong_answer, "not finite");
  evaluation.errors = {{"mission", 1, "normal", "o", std::nan(""), std::numeric_limits<double>::infinity(), -1}};
  evaluation.worst_relative_l2 = std::nan("");
  archive->record(proposal(0), candidate(proposal(0), "a"), evaluation);
  const Evaluation back = archive->recall(proposal(0)).value().evaluation;
  CHECK(std::isnan(back.errors.at(0).relative_l2));
  CHECK(std::isinf(back.errors.at(0).max_abs));
  CHECK(back.errors.at(0).cosine == -1);
  CHECK(std::isnan(back.worst_relative_l2));
}

TEST_CASE("texts with quotes, line breaks and other bytes are read back unchanged") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const RunId run = store.begin_run(run_info());
  const std::string source = std::string("'); DROP TABLE run; --\n\"%s\" \xff\xfe") + std::string(1, '\0') + "end";
  store.archive(run)->record(proposal(0), candidate(proposal(0), source), failed(Verdict::crashed, source));
  const CandidateRow row = store.candidate(*store.candidate_of(run, 0)).value();
  CHECK(row.programs.at(0).source == source);
  CHECK(row.evaluation.reason == source);
}

TEST_CASE("a recorded proposal is recalled, an unknown one is not") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const RunId first = store.begin_run(run_info());
  const RunId second = store.begin_run(run_info());
  store.archive(first)->record(proposal(0), candidate(proposal(0), "a"), valid(10, "a"));
  CHECK(store.archive(first)->recall(proposal(0))->evaluation.latency_us == 10);
  CHECK_FALSE(store.archive(first)->recall(proposal(1)));
  CHECK_FALSE(store.archive(second)->recall(proposal(0)));
}

TEST_CASE("a run whose space has changed is not resumed") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const auto archive = store.archive(store.begin_run(run_info()));
  archive->record(proposal(0), candidate(proposal(0), "a"), valid(10, "a"));
  Proposal other = proposal(1);
  other.ticket = 0;
  CHECK_THAT(error_of([&] { archive->recall(other); }), ContainsSubstring("cannot be resumed"));
}

TEST_CASE("a ticket is recorded once, and so is a genome") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const RunId run = store.begin_run(run_info());
  const auto archive = store.archive(run);
  archive->record(proposal(0), candidate(proposal(0), "a"), valid(10, "a"));
  Proposal same_ticket = proposal(5);
  same_ticket.ticket = 0;
  CHECK_THAT(error_of([&] { archive->record(same_ticket, candidate(same_ticket, "b"), valid(9, "b")); }),
             ContainsSubstring("another process is running it"));
  Proposal same_genome = proposal(0);
  same_genome.ticket = 1;
  CHECK_THAT(error_of([&] { archive->record(same_genome, candidate(same_genome, "b"), valid(9, "b")); }),
             ContainsSubstring("genome of proposal 1 before"));
  CHECK(store.run(run)->evaluated == 1);
  CHECK(store.run(run)->best_us == 10);
}

TEST_CASE("a failed record leaves nothing behind") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const RunId run = store.begin_run(run_info());
  const auto archive = store.archive(run);
  archive->record(proposal(0), candidate(proposal(0), "a"), valid(10, "a"));
  const Proposal orphan = proposal(1, {0, 77});
  CHECK_THAT(error_of([&] { archive->record(orphan, candidate(orphan, "b"), valid(5, "b")); }),
             ContainsSubstring("parent 77"));
  CHECK(store.outcomes(run).size() == 1);
  CHECK(store.elites().size() == 1);
  CHECK(store.check().empty());
  archive->record(proposal(1, {0}), candidate(proposal(1), "b"), valid(5, "b"));
  CHECK(store.elites().size() == 2);
}

TEST_CASE("runs are listed newest first with their counts") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const RunId first = store.begin_run(run_info());
  const RunId second = store.begin_run(run_info());
  const auto archive = store.archive(first);
  archive->record(proposal(0), candidate(proposal(0), "a"), valid(30, "a"));
  archive->record(proposal(1), candidate(proposal(1), "b"), failed(Verdict::timed_out, "60 s"));
  archive->record(proposal(2), candidate(proposal(2), "c"), valid(20, "c"));
  const std::vector<RunRow> runs = store.runs();
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].id == second);
  CHECK(runs[1].evaluated == 3);
  CHECK(runs[1].valid == 2);
  CHECK(runs[1].best_us == 20);
  CHECK(runs[0].evaluated == 0);
  CHECK(store.runs().front().id == second);
}

TEST_CASE("the outcomes of a run come in ticket order") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const RunId run = store.begin_run(run_info());
  const auto archive = store.archive(run);
  archive->record(proposal(0), candidate(proposal(0), "a"), valid(30, "a"));
  archive->record(proposal(1, {0}), candidate(proposal(1), "b"), failed(Verdict::wrong_answer, "no"));
  const std::vector<OutcomeRow> outcomes = store.outcomes(run);
  REQUIRE(outcomes.size() == 2);
  CHECK(outcomes[0].latency_us == 30);
  CHECK(outcomes[0].op == "random");
  CHECK(outcomes[0].seconds >= 0);
  CHECK(outcomes[1].verdict == Verdict::wrong_answer);
  CHECK_FALSE(outcomes[1].latency_us);
}

TEST_CASE("a lineage lists every ancestor once, by distance") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const RunId run = store.begin_run(run_info());
  const auto archive = store.archive(run);
  // 0   1      3 descends from 0 and 1, 4 from 3 and 0, 5 from 4 and 4; 2 is nobody's ancestor.
  const auto add = [&](std::uint64_t ticket, std::vector<std::uint64_t> parents, double latency) {
    const Proposal p = proposal(ticket, std::move(parents));
    archive->record(p, candidate(p, "s" + std::to_string(ticket)), valid(latency, std::to_string(ticket)));
  };
  add(0, {}, 50);
  add(1, {}, 40);
  add(2, {}, 60);
  add(3, {0, 1}, 30);
  add(4, {3, 0}, 20);
  add(5, {4, 4}, 10);
  const auto id = [&](std::uint64_t ticket) { return store.candidate_of(run, ticket).value(); };
  const std::vector<LineageRow> rows = store.lineage(id(5));
  std::vector<std::pair<CandidateId, int>> seen;
  for (const LineageRow& row : rows) seen.emplace_back(row.candidate, row.distance);
  CHECK(seen == std::vector<std::pair<CandidateId, int>>{{id(5), 0}, {id(4), 1}, {id(3), 2}, {id(0), 2}, {id(1), 3}});
  CHECK(rows[0].parents == std::vector{id(4), id(4)});
  CHECK(rows[2].latency_us == 30);
  CHECK(rows[2].op == "crossover");
  CHECK(rows[4].parents.empty());
  CHECK_THAT(error_of([&] { store.lineage(404); }), ContainsSubstring("no candidate 404"));
}

TEST_CASE("the differences of two genomes are the genes whose alleles differ") {
  const Genome a{"plain", {{"tile", std::int64_t{64}}, {"ping", true}, {"same", std::int64_t{1}}}};
  const Genome b{"plain", {{"tile", std::int64_t{128}}, {"stages", std::int64_t{2}}, {"same", std::int64_t{1}}}};
  const std::vector<GeneDifference> found = differences(a, b);
  REQUIRE(found.size() == 3);
  CHECK((found[0].gene == "ping" && found[0].a == Value(true) && !found[0].b));
  CHECK((found[1].gene == "stages" && !found[1].a && found[1].b == Value(std::int64_t{2})));
  CHECK((found[2].gene == "tile" && found[2].a == Value(std::int64_t{64}) && found[2].b == Value(std::int64_t{128})));
  CHECK(differences(a, a).empty());
}

TEST_CASE("the newest self-test of a task hash on a kind of device is remembered") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const RunInfo info = run_info();
  CHECK_FALSE(store.last_selftest(info.task_hash, "cuda"));
  SelftestRecord record{.task = info.task,
                        .task_hash = info.task_hash,
                        .device = info.device,
                        .passed = true,
                        .judged = 40,
                        .wrong = 0,
                        .salt = 0xfedcba9876543210u,
                        .evo_version = "0.1.0",
                        .nvrtc_version = "13.0"};
  store.record_selftest(record);
  record.passed = false;
  record.wrong = 2;
  store.record_selftest(record);
  const SelftestRecord back = store.last_selftest(info.task_hash, "cuda").value();
  CHECK_FALSE(back.passed);
  CHECK(back.wrong == 2);
  CHECK(back.judged == 40);
  CHECK(back.salt == 0xfedcba9876543210u);
  CHECK(back.device.uuid == info.device.uuid);
  CHECK(back.nvrtc_version == "13.0");
  CHECK(back.at.size() == 24);
  CHECK_FALSE(store.last_selftest(info.task_hash, "vgpu"));
  CHECK_FALSE(store.last_selftest("another hash", "cuda"));
  store.begin_run(info);
  CHECK(store.task_files(info.task_hash) == info.files);
}

TEST_CASE("the attacks that found a task's kernels wrong are remembered, each once, and merged") {
  const TempFolder folder;
  Store store = Store::open(folder / "one.db", Store::Mode::write);
  const RunInfo info = run_info();
  AttackRecord record{.task = info.task,
                      .task_hash = info.task_hash,
                      .device = info.device,
                      .regime = R"({"distribution":"normal","gain":8.0})",
                      .shape = {{"S", std::int64_t{77}}},
                      .error = 2.5,
                      .reason = "relative L2 error 0.1 (limit 0.04)",
                      .origin = "candidate 1",
                      .evo_version = "0.1.0"};
  store.record_attack(record);
  store.record_attack(record);
  record.regime = R"({"distribution":"sparse"})";
  record.error = std::nullopt;
  store.record_attack(record);
  const auto check = [&](const Store& of) {
    const std::vector<AttackRecord> back = of.attacks(info.task_hash);
    REQUIRE(back.size() == 2);
    CHECK(back[0].regime == R"({"distribution":"normal","gain":8.0})");
    CHECK(back[0].shape == record.shape);
    CHECK(back[0].error == 2.5);
    CHECK(back[0].at.size() == 24);
    CHECK(back[0].device.uuid == info.device.uuid);
    CHECK_FALSE(back[1].error);
    CHECK(of.attacks("another hash").empty());
  };
  check(store);
  Store other = Store::open(folder / "other.db", Store::Mode::write);
  other.merge(folder / "one.db");
  other.merge(folder / "one.db");
  check(other);
}

TEST_CASE("a store's version changes when another connection has changed the database, and not otherwise") {
  const TempFolder folder;
  Store writer = Store::open(folder / "evo.db", Store::Mode::write);
  const RunId run = writer.begin_run(run_info());
  const Store reader = Store::open(folder / "evo.db", Store::Mode::read);
  const std::int64_t before = reader.version();
  CHECK(reader.runs().size() == 1);
  CHECK(reader.version() == before);
  writer.archive(run)->record(proposal(0), candidate(proposal(0), "a"), valid(10, "a"));
  CHECK(reader.version() != before);
  const std::int64_t recorded = reader.version();
  CHECK(reader.run(run)->best_us == 10);
  CHECK(reader.version() == recorded);
  writer.finish_run(run, RunStatus::finished);
  CHECK(reader.version() != recorded);
}

TEST_CASE("rows are there when the file is opened again") {
  const TempFolder folder;
  RunId run = 0;
  {
    Store store = Store::open(folder / "evo.db", Store::Mode::write);
    run = store.begin_run(run_info());
    store.archive(run)->record(proposal(0), candidate(proposal(0), "a"), valid(10, "a"));
    store.finish_run(run, RunStatus::finished);
  }
  CHECK(folder.files() == std::vector<std::string>{"evo.db"});
  const Store store = Store::open(folder / "evo.db", Store::Mode::read);
  CHECK(store.run(run)->best_us == 10);
  CHECK(store.elites().size() == 1);
  CHECK(store.path() == folder / "evo.db");
}

TEST_CASE("all that is known of a candidate comes along when databases are merged") {
  const TempFolder folder;
  {
    Store from = Store::open(folder / "from.db", Store::Mode::write);
    const RunId run = from.begin_run(run_info());
    const auto archive = from.archive(run);
    archive->record(proposal(0), candidate(proposal(0), "elite"), valid(10, "elite"));
    Evaluation all = valid(20, "all");
    all.residency = {{"k", 72, 1024, 3}};
    all.comparison = EliteComparison{1, Standing::slower, 2, 1.9, 2.1, 3};
    all.original = Original{0, Shared::source, Verdict::wrong_answer};
    all.mismatch = Mismatch{.shape = "mission", .output = "o"};
    all.profiles = {{"mission", true, {{"k", {{"a.sum", 2.5}}}}}};
    const Proposal child = proposal(1, {0});
    archive->record(child, candidate(child, "all"), all);
    archive->settle();
    from.record_checks(2, {{{"sanitiser", EliteCheck::Outcome::passed, "3 shapes"}},
                           EliteFinding{Verdict::wrong_answer, "at a size that was not listed"}});
  }
  Store into = Store::open(folder / "into.db", Store::Mode::write);
  RunInfo other = run_info();
  other.salt = 77;
  const RunId here = into.begin_run(other);
  into.archive(here)->record(proposal(0), candidate(proposal(0), "of here"), valid(30, "of here"));
  CHECK(into.merge(folder / "from.db").candidates == 2);

  const CandidateRow row = into.candidate(3).value();
  CHECK(row.parents == std::vector<CandidateId>{2});
  CHECK(row.evaluation.comparison.value().elite == 2);  // By its number here.
  CHECK(row.evaluation.comparison->ratio_high == 2.1);
  CHECK(row.evaluation.original == Original{0, Shared::source, Verdict::wrong_answer});
  CHECK(row.evaluation.mismatch.value().output == "o");
  CHECK(row.evaluation.residency.at(0).blocks == 3);
  CHECK(row.evaluation.builds.at(0).kernel("k").static_smem_bytes == 1024);
  CHECK(row.evaluation.timings.at(0).samples_us.size() == 2);
  CHECK(row.evaluation.profiles.size() == 1);
  CHECK(row.evaluation.verdict == Verdict::wrong_answer);
  CHECK(row.checks.at(0).note == "3 shapes");

  // A table that is added is merged, too, or this fails: each that tells of a candidate has rows here and there.
  SQLite::Database from((folder / "from.db").string()), merged((folder / "into.db").string());
  const auto count = [](SQLite::Database& database, const std::string& table, const std::string& where) {
    return database.execAndGet("SELECT count(*) FROM " + table + where).getInt();
  };
  SQLite::Statement tables(from,
                           "SELECT one.name FROM sqlite_schema AS one JOIN pragma_table_info(one.name) AS info "
                           "WHERE one.type = 'table' AND info.name = 'candidate'");
  const std::set<std::string> filled_elsewhere = {"candidate_file", "exchange_candidate", "note", "sitting", "elite"};
  while (tables.executeStep()) {
    const std::string table = tables.getColumn(0).getString();
    if (filled_elsewhere.contains(table)) continue;
    INFO(table);
    CHECK(count(from, table, "") > 0);
    CHECK(count(from, table, "") == count(merged, table, " WHERE candidate > 1"));
  }
}
