#include "cli/run/proposer_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "cli/model/profile_report.h"
#include "cli/run/guarded_command.h"
#include "cli/subject/json.h"
#include "cli/text/streams.h"
#include "engine/base/error.h"
#include "engine/base/json_depth.h"

namespace evo::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestAnswer = 1 << 20;  // bytes
constexpr std::size_t kLongestNote = 4096;       // bytes
constexpr std::size_t kReportedFailures = 8;     // the latest

/// A failure of the process. It is reported, and the run continues.
struct Trouble : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Thrown when the search is to end while it waits for the process.
struct Interrupted {};

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json genes_json(const Family& family) {
  Json genes = Json::array();
  for (const Gene& gene : family.genes) {
    Json alleles = Json::array();
    for (const Value& allele : gene.alleles) alleles.push_back(value_json(allele));
    genes.push_back({{"name", gene.name},
                     {"alleles", alleles},
                     {"slot", names_files(gene)},
                     {"when", gene.when.text()},
                     {"doc", gene.doc}});
  }
  return genes;
}

Json family_json(const Family& family) {
  Json derived = Json::object();
  for (const Derived& value : family.derived) derived[value.name] = value.value.text();
  Json constraints = Json::array();
  for (const Constraint& constraint : family.constraints)
    constraints.push_back({{"condition", constraint.condition.text()}, {"why", constraint.why}});
  return {{"name", family.name},
          {"summary", family.summary},
          {"genes", genes_json(family)},
          {"derived", derived},
          {"constraints", constraints}};
}

std::string greeting_of(const Task& task, const Target& target, const Space& space, const DeviceInfo& device,
                        const SourceTree& files) {
  Json shapes = Json::object();
  for (const Shape& shape : target.timed) shapes[shape.name] = bindings_json(shape.parameters);
  Json families = Json::array();
  for (const Family& family : space.families()) families.push_back(family_json(family));
  return line_of(
      {{"type", "task"},
       {"task", task.name},
       {"summary", task.summary},
       {"objective", target.objective},
       {"options", bindings_json(target.options)},
       {"shapes", shapes},
       {"device", {{"name", device.name}, {"arch", device.arch}, {"facts", bindings_json(facts_of(device.limits))}}},
       {"families", families},
       {"files", files}});
}

/// Occupancy, and what bounds it where its counters were read.
std::string profile_words(const Evaluation& evaluation) {
  const std::string bounds = bounds_text(evaluation.profiles);
  return bounds.empty() ? evaluation.sass_summary : evaluation.sass_summary + '\n' + bounds;
}

Json profile_json(const Proposal& proposal, const Evaluation& evaluation) {
  int registers = 0;
  int spill_bytes = 0;
  for (const Build& build : evaluation.builds) {
    registers = std::max(registers, build.registers);
    spill_bytes = std::max(spill_bytes, build.spill_bytes);
  }
  const double error = evaluation.worst_relative_l2;
  return {{"ticket", proposal.ticket},
          {"genome", genome_json(proposal.genome)},
          {"latency_us", evaluation.latency_us},
          {"relative_l2", std::isfinite(error) ? Json(error) : Json(nullptr)},
          {"registers", registers},
          {"spill_bytes", spill_bytes},
          {"profile", profile_words(evaluation)}};
}

/// A text for people. Throws when it is too long for one.
std::string read_note(const Json& item) {
  std::string note = item.value("note", "");
  if (note.size() > kLongestNote) throw std::invalid_argument(fmt::format("note: longer than {} bytes", kLongestNote));
  return note;
}

/// One proposal. Throws when it cannot be read.
Proposed read_proposal(const std::string& task, const Json& item) {
  Proposed proposed;
  if (item.contains("source")) {
    ProposedFiles source = source_files(task, item["source"].get<std::string>(), item.at("plan").dump());
    proposed.files = std::move(source.files);
    proposed.genome = std::move(source.genome);
  } else {
    proposed.genome = genome_from_json(item.at("genome").dump());
  }
  if (item.contains("slot")) {
    const Json& slot = item["slot"];
    proposed.files.merge(allele_files(task, slot.at("family").get<std::string>(), slot.at("gene").get<std::string>(),
                                      slot.at("allele").get<std::string>(), slot.at("text").get<std::string>()));
  }
  proposed.note = read_note(item);
  if (item.contains("parents")) proposed.parents = item["parents"].get<std::vector<std::uint64_t>>();
  return proposed;
}

}  // namespace

struct ProposerProcess::Known {
  std::uint64_t evaluations = 0;
  std::vector<std::pair<double, Json>> elites;  // best first
  std::deque<Json> failures;
  std::vector<Json> refused;
};

ProposerProcess::ProposerProcess(ProposerOptions options, const Task& task, const Target& target, const Space& space,
                                 const DeviceInfo& device, const SourceTree& files)
    : options_(std::move(options)),
      task_(task.name),
      greeting_(greeting_of(task, target, space, device, files)),
      known_(std::make_unique<Known>()) {}

ProposerProcess::~ProposerProcess() {
  stop();
}

void ProposerProcess::observe(const Proposal& proposal, const Evaluation& evaluation) {
  ++known_->evaluations;
  if (evaluation.verdict == Verdict::valid) {
    auto& elites = known_->elites;
    const auto place = std::upper_bound(elites.begin(), elites.end(), evaluation.latency_us,
                                        [](double latency_us, const auto& elite) { return latency_us < elite.first; });
    elites.insert(place, {evaluation.latency_us, profile_json(proposal, evaluation)});
    if (elites.size() > kEliteCount) elites.pop_back();
  } else if (evaluation.verdict != Verdict::duplicate) {
    known_->failures.push_back({{"genome", genome_json(proposal.genome)},
                                {"verdict", name_of(evaluation.verdict)},
                                {"reason", evaluation.reason}});
    if (known_->failures.size() > kReportedFailures) known_->failures.pop_front();
  }
}

std::optional<Proposed> ProposerProcess::next() {
  if (waiting_.empty() && failures_ < kMaxFailures) {
    try {
      const std::vector<Proposed> answer = ask();
      waiting_.assign(answer.begin(), answer.end());
    } catch (const Interrupted&) {
      stop();
      interrupted_ = true;
    } catch (const std::exception& error) {
      stop();
      ++failures_;
      write_to_stderr(fmt::format("proposer: {}; {}\n", error.what(),
                                  failures_ < kMaxFailures ? "it is started again" : "the run continues without it"));
    }
  }
  if (waiting_.empty()) return std::nullopt;
  Proposed proposed = std::move(waiting_.front());
  waiting_.pop_front();
  return proposed;
}

void ProposerProcess::refused(const Proposed& proposed, const std::string& why) {
  Json refusal = {{"genome", genome_json(proposed.genome)}, {"why", why}};
  for (const auto& [path, text] : proposed.files) refusal["files"].push_back(path);
  known_->refused.push_back(std::move(refusal));
}

std::vector<Proposed> ProposerProcess::read_proposals(const std::string& line) {
  require_shallow_json(line, "its answer");
  const Json answer = Json::parse(line, nullptr, false);
  if (!answer.is_object() || !answer.contains("proposals") || !answer["proposals"].is_array())
    throw Trouble("its answer is not {\"proposals\": [...]}");
  std::vector<Proposed> proposals;
  for (const Json& item : answer["proposals"]) {
    try {
      proposals.push_back(read_proposal(task_, item));
    } catch (const std::exception& error) {
      known_->refused.push_back({{"proposal", item}, {"why", fmt::format("it cannot be read: {}", error.what())}});
    }
  }
  return proposals;
}

std::vector<Proposed> ProposerProcess::ask() {
  if (!process_) start();
  Json elites = Json::array();
  for (const auto& [latency_us, elite] : known_->elites) elites.push_back(elite);
  send(line_of({{"type", "propose"},
                {"evaluations", known_->evaluations},
                {"elites", elites},
                {"failures", known_->failures},
                {"refused", known_->refused}}));
  known_->refused.clear();
  return read_proposals(receive());
}

void ProposerProcess::start() {
  SocketPair sockets = make_socket_pair();
  process_ = std::make_unique<Process>(guarded_command(options_.command), sockets.theirs.get(), STDERR_FILENO);
  socket_ = std::move(sockets.ours);
  received_.clear();
  send(greeting_);
}

void ProposerProcess::stop() noexcept {
  if (process_) ::kill(-process_->pid(), SIGKILL);  // with the shell's children
  process_.reset();
  socket_.reset();
}

void ProposerProcess::wait_a_little(short events) const {
  if (options_.ends && options_.ends()) throw Interrupted();
  pollfd ready{socket_.get(), events, 0};
  ::poll(&ready, 1, 100);
}

void ProposerProcess::send(const std::string& line) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(options_.deadline_s);
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t written = ::send(socket_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written > 0) {
      sent += static_cast<std::size_t>(written);
    } else if (errno != EAGAIN && errno != EINTR) {
      throw Trouble("it has ended");
    } else if (std::chrono::steady_clock::now() >= until) {
      throw Trouble(fmt::format("it did not read for {} s", options_.deadline_s));
    } else {
      wait_a_little(POLLOUT);
    }
  }
}

std::string ProposerProcess::receive() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(options_.deadline_s);
  while (true) {
    if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    if (received_.size() > kLongestAnswer) throw Trouble("its answer is longer than a mebibyte");
    if (std::chrono::steady_clock::now() >= until)
      throw Trouble(fmt::format("no answer within {} s", options_.deadline_s));
    wait_a_little(POLLIN);
    char buffer[1 << 14];
    const ssize_t count = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (count > 0) {
      received_.append(buffer, static_cast<std::size_t>(count));
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      throw Trouble("it has ended");
    }
  }
}

}  // namespace evo::cli
