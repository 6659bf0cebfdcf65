// When and what a language model is asked, apart from servers: time and replies are given.
#include "cli/llm/conversation.h"
#include "cli/llm/prompt.h"
#include "tests/cli/bench.h"

using namespace evo::cli;
using evo::testing::holds;

namespace {

using FullJson = nlohmann::ordered_json;

LlmOptions options_for(std::vector<std::string> models = {"m"}) {
  LlmOptions options;
  options.models = std::move(models);
  return options;
}

FullJson question_of(FullJson more = FullJson::object()) {
  FullJson question = {{"type", "propose"}, {"elites", {{{"ticket", 3}, {"latency_us", 5.0}}}}};
  question.update(more);
  return question;
}

ChatReply good_reply(const std::string& proposals = R"([{"genome": {"like": 3}}])") {
  ChatReply reply;
  reply.answer = R"({"reasoning": "", "proposals": )" + proposals + "}";
  reply.requests = 1;
  return reply;
}

ChatReply failed_reply(bool lasting, int retry_after_s = 0) {
  ChatReply reply;
  reply.failure = "the server answered";
  reply.lasting = lasting;
  reply.retry_after = std::chrono::seconds(retry_after_s);
  reply.requests = 1;
  return reply;
}

std::string all_of(const std::vector<std::string>& notices) {
  std::string text;
  for (const std::string& notice : notices) text += notice + "\n";
  return text;
}

struct Session : Conversation {
  explicit Session(const LlmOptions& options = options_for()) : Conversation(options) {
    set_task({{"task", "t"}, {"files", FullJson::object()}});
  }
};

/// Asks until the model is asked, and gives its reply.
void exchange(Session& session, ChatReply reply, const FullJson& question, double now = 0) {
  session.answer(question, now);
  if (!session.asked()) session.answer(question_of(), now);
  REQUIRE(session.asked());
  session.take(std::move(reply), 1, now);
}

}  // namespace

TEST_CASE("proposals of a model are handed over before it is asked again, so that it learns what became of them") {
  Session session;
  session.answer(question_of(), 0);
  REQUIRE(session.asked());
  session.take(good_reply(), 1, 0);
  const FullJson line = session.answer(question_of(), 0);
  CHECK(line["proposals"].size() == 1);
  CHECK(line["exchanges"].size() == 1);
  CHECK(!session.asked());
  session.answer(question_of({{"refused", {{{"why", "it is too wide"}, {"proposal", "p"}}}}}), 0);
  REQUIRE(session.asked());
  CHECK(holds(session.asked()->prompt.user, "it is too wide"));
}

TEST_CASE("a server that is busy is left alone for as long as it asks, and longer each time, but never given up") {
  Session session;
  double now = 0;
  exchange(session, failed_reply(false, 77), question_of(), now);
  CHECK(holds(all_of(session.notices()), "asked again in 1 min 17 s"));
  session.answer(question_of(), now + 76);
  CHECK(!session.asked());
  double pause = 0;
  for (int failures = 0; failures < 12; ++failures) {
    double waited = failures == 0 ? 77 : 0;
    while (session.answer(question_of(), now + waited), !session.asked()) waited += 1;
    if (failures > 0) CHECK(waited >= pause);
    CHECK(waited <= 301);
    pause = failures == 0 ? 0 : waited;
    now += waited;
    session.take(failed_reply(false), 1, now);
  }
  CHECK(pause == 300);
  CHECK(!session.answer(question_of(), now).contains("done"));
}

TEST_CASE("a key or model that a server goes on refusing ends the asking, of the model concerned") {
  Session one;
  for (int i = 0; i < 3; ++i) exchange(one, failed_reply(true), question_of(), i * 1000.0);
  CHECK(holds(all_of(one.notices()), "the server answered, 3 times in a row; the search goes on without it"));
  CHECK(one.answer(question_of(), 1e6)["done"] == true);

  Session two(options_for({"gone", "there"}));
  for (double now = 0; now < 20'000; now += 1000) {
    two.answer(question_of(), now);
    if (!two.asked()) continue;
    const bool gone = two.asked()->model == "gone";
    two.take(gone ? failed_reply(true) : good_reply(), 1, now);
  }
  CHECK(holds(all_of(two.notices()), "gone is not asked any more"));
  two.answer(question_of(), 1e6);
  two.answer(question_of(), 1e6);
  REQUIRE(two.asked());
  CHECK(two.asked()->model == "there");
}

TEST_CASE("after three alike answers a model is asked something else, another thing each time") {
  Session session;
  std::set<std::string> orders;
  for (int i = 0; i < 9; ++i) {
    exchange(session, good_reply(), question_of());
    session.answer(question_of(), 0);
    session.answer(question_of(), 0);
    REQUIRE(session.asked());
    const std::string prompt = session.asked()->prompt.user;
    if (const std::size_t at = prompt.find("Your last answers were alike"); at != std::string::npos)
      orders.insert(prompt.substr(at));
    session.take(good_reply(), 1, 0);
    session.answer(question_of(), 0);
  }
  CHECK(orders.size() == 3);
}

TEST_CASE("answers that are refused for the same reason, whatever the numbers, count as alike") {
  Session session;
  bool other = false;
  for (int i = 0; i < 5; ++i) {
    const std::string genome = R"([{"genome": {"like": )" + std::to_string(i) + "}}]";
    exchange(session, good_reply(genome),
             question_of({{"refused", {{{"why", "threads cannot be '" + std::to_string(1000 + i) + "'"}}}}}));
    other |= holds(all_of(session.notices()), "were alike");
    session.answer(question_of(), 0);
  }
  CHECK(other);
}

TEST_CASE("refusals without a candidate pause a model until there is a new best, and the fourth pause ends it") {
  LlmOptions options = options_for();
  options.refusals = 2;
  Session session(options);
  const FullJson refused = {{{"why", "a"}}, {{"why", "b"}}};
  const auto with_best = [&](int ticket, bool refuses) {
    FullJson question = {{"elites", {{{"ticket", ticket}}}}};
    if (refuses) question["refused"] = refused;
    return question;
  };
  for (int best = 1; best <= 3; ++best) {
    session.answer(with_best(best, true), 0);
    CHECK(!session.asked());
    CHECK(holds(all_of(session.notices()),
                "2 refused proposals without a candidate (--llm-refusals); it is asked again"));
    session.answer(with_best(best, false), 1e6);
    CHECK(!session.asked());
    session.answer(with_best(best + 1, false), 1e6);
    REQUIRE(session.asked());
    session.take(good_reply(), 1, 0);
    session.answer(with_best(best + 1, false), 0);
  }
  session.answer(with_best(4, true), 0);
  CHECK(holds(all_of(session.notices()), "after 3 pauses; the search goes on without it"));
  CHECK(session.answer(with_best(9, false), 0)["done"] == true);
}

TEST_CASE("a candidate of its own gives a model all of its refusals again") {
  LlmOptions options = options_for();
  options.refusals = 2;
  Session session(options);
  session.answer(question_of({{"refused", {{{"why", "a"}}}}}), 0);
  REQUIRE(session.asked());
  session.take(good_reply(), 1, 0);
  session.answer(question_of({{"own", {{{"ticket", 8}, {"verdict", "valid"}}}}}), 0);
  session.answer(question_of({{"refused", {{{"why", "b"}}}}}), 0);
  CHECK(session.asked());
}

TEST_CASE("of several models the one whose candidates are among the best is asked more often") {
  NamedBandit bandit({"good", "bad"});
  std::map<std::string, int> asked;
  for (int i = 0; i < 60; ++i) {
    const std::string model = bandit.next();
    ++asked[model];
    bandit.asked(model);
    bandit.tell(model, model == "good");
  }
  CHECK(asked["good"] > 2 * asked["bad"]);
  CHECK(asked["bad"] > 1);
}

TEST_CASE(
    "a prompt shows the rendered source by its share of time, the entry kernel first, and names what it leaves out") {
  std::string entry, hot, cold;
  for (int i = 0; i < 40; ++i) entry += "entry line " + std::to_string(i) + "\n";
  for (int i = 0; i < 40; ++i) hot += "hot line " + std::to_string(i) + "\n";
  for (int i = 0; i < 400; ++i) cold += "cold line " + std::to_string(i) + "\n";
  const FullJson task = {{"task", "t"},
                         {"device",
                          {{"name", "G"},
                           {"arch", "sm_90a"},
                           {"facts", {{"smem_per_block", 232448}}},
                           {"rates",
                            {{"memory_gbytes_per_s", 4800.0},
                             {"l2_bytes", 52428800},
                             {"clock_ghz", 1.98},
                             {"launch_us", 1.5},
                             {"tensor_tflops", {{"f16", 989.5}}}}}}},
                         {"files",
                          {{"t/f/kernel.cu", "template of the entry\n"},
                           {"include/hot.cuh", "template of hot\n"},
                           {"t/g/kernel.cu", "template of another family\n" + std::string(20'000, 'g')}}}};
  const FullJson elite = {
      {"ticket", 3},
      {"latency_us", 5.0},
      {"genome", {{"family", "f"}, {"genes", FullJson::object()}}},
      {"source", cold + entry + hot},
      {"source_map",
       {{{"from", 1}, {"lines", 400}, {"file", "include/cold.cuh"}, {"at", 1}},
        {{"from", 401}, {"lines", 40}, {"file", "t/f/kernel.cu"}, {"at", 1}},
        {{"from", 441}, {"lines", 40}, {"file", "include/hot.cuh"}, {"at", 1}}}},
      {"file_shares", {{{"file", "include/hot.cuh"}, {"share", 0.9}}, {{"file", "include/cold.cuh"}, {"share", 0.01}}}},
      {"line_shares", {{{"line", 445}, {"share", 0.5}}}}};
  const FullJson written = {
      {"elites", FullJson::array({elite})},
      {"slower", {{{"ticket", 9}, {"latency_us", 7.0}, {"changes", {{"tile", {64, 32}}}}, {"profile", "bound by L2"}}}},
      {"lineage", {{{"ticket", 3}, {"latency_us", 5.0}, {"operator", "crossover"}}}},
      {"own",
       {{{"ticket", 5},
         {"verdict", "valid"},
         {"latency_us", 6.0},
         {"parent_us", 5.5},
         {"note", "n"},
         {"patch", {{{"file", "kernel.cu"}, {"find", "old"}, {"replace", "new"}}}}}}}};
  const FullJson question = FullJson::parse(written.dump());  // As a proposer reads it.
  const std::string prompt = prompt_for(task, question, {.most_bytes = 12'000}).user;
  for (const char* part :
       {"memory 4800 GB/s", "L2 50 MiB", "1.98 GHz", "\"f16\":989.5", "smem_per_block",
        "50 % line 445 (include/hot.cuh): hot line 4", "entry line 39", "hot line 39", "left out: include/cold.cuh",
        "template of hot", "bound by L2", "from the best to it: {\"tile\":[64,32]}", "by crossover",
        "patched kernel.cu: old => new", "(before: 5.5"}) {
    INFO(part);
    CHECK(holds(prompt, part));
  }
  CHECK(!holds(prompt, "cold line 7\n"));
  // The hot include comes before the other family's kernel, which does not fit.
  CHECK(prompt.find("template of hot") < prompt.find("t/g/kernel.cu"));
  CHECK(holds(prompt_for(task, question, {.most_bytes = 80'000}).user, "cold line 399"));
}
