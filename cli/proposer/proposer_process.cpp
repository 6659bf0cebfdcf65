#include "cli/proposer/proposer_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "cli/proposer/guarded_command.h"
#include "cli/subject/json.h"
#include "cli/text/json_text.h"
#include "cli/text/streams.h"
#include "engine/base/error.h"
#include "engine/base/json_depth.h"
#include "engine/base/rng.h"

namespace evo::cli {
namespace {

constexpr std::size_t kLongestNote = 4096;          // bytes
constexpr std::string_view kRendered = "rendered";  // in a patch: the source that the templates become
constexpr std::size_t kLongestAnswer = 1 << 20;     // bytes; of evo llm, with its prompts, more
constexpr std::size_t kLongestOwnAnswer = 64 << 20;

/// A text for people. Throws when it is too long for one.
std::string read_note(const Json& item) {
  std::string note = item.value("note", "");
  if (note.size() > kLongestNote) throw std::invalid_argument(fmt::format("note: longer than {} bytes", kLongestNote));
  return note;
}

/// The changes of a patch.
std::vector<TextEdit> read_edits(const Json& patch) {
  std::vector<TextEdit> edits;
  for (const Json& edit : patch)
    edits.push_back({edit.at("file").get<std::string>(), edit.at("find").get<std::string>(),
                     edit.at("replace").get<std::string>()});
  return edits;
}

/// Whether the space has genomes with all these alleles of a family.
bool knows_alleles(const Space& space, const Genome& changes) {
  for (const Family& family : space.families()) {
    if (family.name != changes.family) continue;
    return std::ranges::all_of(changes.genes, [&](const auto& change) {
      const Gene* gene = family.gene(change.first);
      return gene != nullptr && std::ranges::find(gene->alleles, change.second) != gene->alleles.end();
    });
  }
  return false;
}

/// The genome with changes of a candidate's. Where its space has all of the alleles, it is the nearest legal one.
Genome changed_genome(const Space& space, const Genome& like, const Json& genes) {
  Genome changes = genome_from_json(Json{{"family", like.family}, {"genes", genes}}.dump());
  Genome changed = like;
  std::vector<std::string> kept;
  for (const auto& [gene, allele] : changes.genes) {
    changed.genes[gene] = allele;
    kept.push_back(gene);
  }
  if (changes.genes.empty() || !knows_alleles(space, changes)) return changed;
  Rng rng(0);
  std::optional<Genome> legal = space.complete(changed, kept, rng);
  if (!legal) throw usage_error(fmt::format("no legal genome has {}", to_text(changes)));
  return std::move(*legal);
}

ExchangeRecord read_exchange(const Json& item) {
  ExchangeRecord exchange;
  exchange.model = item.at("model").get<std::string>();
  exchange.prompt = item.at("prompt").get<std::string>();
  exchange.answer = item.value("answer", "");
  exchange.prompt_tokens = item.value("prompt_tokens", std::int64_t{0});
  exchange.answer_tokens = item.value("answer_tokens", std::int64_t{0});
  exchange.cost = item.value("cost", 0.0);
  exchange.seconds = item.value("seconds", 0.0);
  exchange.failure = item.value("failure", "");
  constexpr std::int64_t kMostTokens = 1'000'000'000;
  for (const std::int64_t tokens : {exchange.prompt_tokens, exchange.answer_tokens})
    if (tokens < 0 || tokens > kMostTokens) throw LineFailure("an exchange has a wrong number of tokens");
  if (!(exchange.cost >= 0 && std::isfinite(exchange.cost))) throw LineFailure("an exchange has a wrong cost");
  return exchange;
}

}  // namespace

ProposerProcess::ProposerProcess(ProposerOptions options, std::string task, const Space& space,
                                 const ProposedTemplates& templates, ProposerMessages messages)
    : task_(std::move(task)),
      space_(space),
      templates_(templates),
      messages_(std::move(messages)),
      spent_(options.spent),
      process_({.command = options.evo.empty() ? guarded_command(options.command) : guarded_evo(options.evo),
                .deadline_s = options.deadline_s,
                .ends = std::move(options.ends),
                .environment = std::move(options.environment),
                .longest_line = options.evo.empty() ? kLongestAnswer : kLongestOwnAnswer}),
      answer_(std::move(options.answer)),
      given_(!answer_.empty()) {}

std::optional<Proposed> ProposerProcess::next() {
  if (waiting_.empty() && failures_ < kMaxFailures && !done_) {
    try {
      const std::vector<Proposed> answer = ask();
      waiting_.assign(answer.begin(), answer.end());
    } catch (const LineInterrupted&) {
      process_.stop();
      interrupted_ = true;
    } catch (const std::exception& error) {
      process_.stop();
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
  if (const std::string model = model_of(proposed.exchange); !model.empty()) refusal["model"] = model;
  messages_.refused(std::move(refusal));
}

void ProposerProcess::observe(const Proposal& proposal, const Evaluation& evaluation) {
  const auto patch = patches_.find(to_text(proposal.genome));
  messages_.observe(proposal, evaluation, {model_of(proposal.exchange), patch == patches_.end() ? "" : patch->second});
}

std::vector<std::string> ProposerProcess::refusals() const {
  std::vector<std::string> texts;
  for (const Json& refusal : messages_.refusals())
    texts.push_back(refusal.dump(-1, ' ', false, Json::error_handler_t::replace));
  return texts;
}

std::string ProposerProcess::model_of(std::int64_t exchange) const {
  const auto model = models_.find(exchange);
  return model == models_.end() ? "" : model->second;
}

ProposedFiles ProposerProcess::patched(const Genome& genome, const Json& patch) const {
  std::vector<TextEdit> edits = read_edits(patch);
  SourceTree tree = templates_.all_files();
  const auto of_rendered = std::ranges::count(edits, kRendered, &TextEdit::file);
  if (of_rendered > 0) {
    if (of_rendered != std::ssize(edits))
      throw usage_error("a patch edits the rendered source or files of the templates, not both");
    tree[fmt::format("{}/{}/kernel.cu", task_, genome.family)] = messages_.rendered_source(genome);
    for (TextEdit& edit : edits) edit.file = "kernel.cu";
  }
  return patched_files(tree, task_, genome, std::move(edits));
}

Proposed ProposerProcess::read_proposal(const Json& item) {
  Proposed proposed;
  if (item.contains("source")) {
    ProposedFiles source = source_files(task_, item["source"].get<std::string>(), item.at("plan").dump());
    proposed.files = std::move(source.files);
    proposed.genome = std::move(source.genome);
  } else if (const Json& genome = item.at("genome"); genome.contains("like")) {
    const auto ticket = genome["like"].get<std::uint64_t>();
    proposed.genome = changed_genome(space_, messages_.genome_of(ticket), genome.value("genes", Json::object()));
    proposed.parents = {ticket};
  } else {
    proposed.genome = genome_from_json(genome.dump());
  }
  if (item.contains("patch")) {
    ProposedFiles made = patched(proposed.genome, item["patch"]);
    proposed.files.merge(std::move(made.files));
    proposed.genome = std::move(made.genome);
    patches_[to_text(proposed.genome)] = item["patch"].dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  if (item.contains("slot")) {
    const Json& slot = item["slot"];
    proposed.files.merge(allele_files(task_, slot.at("family").get<std::string>(), slot.at("gene").get<std::string>(),
                                      slot.at("allele").get<std::string>(), slot.at("text").get<std::string>()));
  }
  proposed.note = read_note(item);
  if (item.contains("parents")) proposed.parents = item["parents"].get<std::vector<std::uint64_t>>();
  return proposed;
}

std::map<std::int64_t, std::int64_t> ProposerProcess::keep_exchanges_of(const Json& answer) {
  std::map<std::int64_t, std::int64_t> kept;
  if (!answer.contains("exchanges")) return kept;
  try {
    for (const Json& item : answer["exchanges"]) {
      const ExchangeRecord exchange = read_exchange(item);
      ++spent_.requests;
      spent_.tokens += static_cast<std::uint64_t>(exchange.prompt_tokens + exchange.answer_tokens);
      spent_.cost += exchange.cost;
      if (!keep_exchange_) continue;
      const std::int64_t number = keep_exchange_(exchange);
      kept[item.at("id").get<std::int64_t>()] = number;
      models_[number] = exchange.model;
    }
  } catch (const Json::exception& error) {
    throw LineFailure(fmt::format("an exchange cannot be read: {}", error.what()));
  }
  return kept;
}

std::vector<Proposed> ProposerProcess::read_proposals(const std::string& line) {
  require_shallow_json(line, "its answer");
  const Json answer = Json::parse(line, nullptr, false);
  if (!answer.is_object() || !answer.contains("proposals") || !answer["proposals"].is_array())
    throw LineFailure("its answer is not {\"proposals\": [...]}");
  const std::map<std::int64_t, std::int64_t> exchanges = keep_exchanges_of(answer);
  std::vector<Proposed> proposals;
  for (const Json& item : answer["proposals"]) {
    std::int64_t exchange = 0;
    try {
      if (const auto kept = exchanges.find(item.value("exchange", std::int64_t{0})); kept != exchanges.end())
        exchange = kept->second;
      Proposed proposed = read_proposal(item);
      proposed.exchange = exchange;
      proposals.push_back(std::move(proposed));
    } catch (const std::exception& error) {
      Json refusal = {{"proposal", item}, {"why", fmt::format("it cannot be read: {}", error.what())}};
      if (const std::string model = model_of(exchange); !model.empty()) refusal["model"] = model;
      messages_.refused(std::move(refusal));
    }
  }
  done_ = given_ || answer.value("done", false);
  return proposals;
}

std::vector<Proposed> ProposerProcess::ask() {
  if (given_) {
    done_ = true;
    return read_proposals(std::exchange(answer_, {}));
  }
  if (!process_.running()) {
    process_.start();
    process_.send(messages_.greeting());
  }
  process_.send(messages_.question(spent_));
  return read_proposals(process_.receive());
}

}  // namespace evo::cli
