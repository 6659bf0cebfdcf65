#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/rng.h"
#include "engine/edits/edit_sites.h"
#include "engine/edits/source_edit.h"
#include "engine/result/evaluation.h"
#include "engine/search/named_bandit.h"
#include "engine/search/proposer.h"
#include "engine/task/candidate.h"

namespace evo {

/// Proposes kernels that are made of valid ones by edits of their sources, mostly of the task's own files. A proposal
/// has one edit more than its parent, of an operator that a bandit chooses; or halves of the edits of two parents; or
/// the edits of one on the genome of another. A new best one is reduced at once: each of its edits is left out, and
/// what is not noticeably slower is reduced further.
///
/// Deterministic: the same seed and the same answers give the same proposals.
class EditProposer : public Proposer {
 public:
  struct Options {
    std::string task;
    SourceTree tree;  ///< The task's files.
    std::uint64_t seed = 0;
    std::function<Candidate(const Genome&)> build;  ///< Any genome that was valid.
  };
  /// `templates`: those that proposals add to. It must outlive this.
  EditProposer(Options options, const ProposedTemplates& templates);

  /// To be told each answer of the search, those of a resumed run included.
  void observe(const Proposal& proposal, const Evaluation& evaluation);

  std::optional<Proposed> next() override;
  void refused(const Proposed& proposed, const std::string& why) override;
  bool goes_on() const override { return true; }
  void retracted(std::uint64_t ticket) override;

 private:
  /// A valid candidate.
  struct Parent {
    EditList list;
    double latency_us = 0;
  };
  /// A proposal before it is one.
  struct Draft {
    EditList list;
    std::vector<std::uint64_t> parents;
    std::string note;
    std::optional<EditOperator> op;  ///< That made its newest edit.
    bool reduces = false;            ///< Its parent has one edit more.
  };
  /// What can be edited in the kernel of a genome.
  struct Subject {
    std::set<std::string> files;
    std::set<std::pair<std::string, int>> lines;  ///< That are in its program.
  };

  /// Edits that failed: no list with all of them is tried.
  struct Hopeless {
    std::string base;  ///< A genome; empty: any.
    std::set<std::string> keys;
  };

  std::optional<Draft> draft();
  std::optional<Draft> crossover();
  std::optional<Draft> transplant();
  std::optional<Draft> one_edit_more();
  std::optional<Proposed> proposed_by(Draft draft);
  std::uint64_t drawn_parent();
  std::vector<std::uint64_t> edited_parents() const;
  const Subject& subject_of(const Genome& base);
  const EditSites& sites_in(const std::string& file, const std::string& text);
  std::string text_of(const EditList& list, const std::string& file) const;
  /// `everywhere`: whatever the genes.
  void give_up(const EditList& list, bool everywhere);
  bool is_hopeless(const EditList& list) const;
  void reduce(std::uint64_t ticket, const Parent& parent);
  void learn(const Proposal& proposal, const Evaluation& evaluation, const EditList& list);

  const Options options_;
  const ProposedTemplates& templates_;
  Rng rng_;
  NamedBandit bandit_;  ///< Among operators.
  std::map<std::uint64_t, Parent> valid_;
  std::vector<std::pair<double, std::uint64_t>> by_latency_;  ///< Of these, the fastest first.
  std::vector<Hopeless> hopeless_;
  std::set<std::string> hopeless_alone_;     ///< Of these those of one edit, with its base.
  std::set<std::string> tried_;              ///< Genomes with edits, by what they change.
  std::map<std::string, Draft> under_way_;   ///< By the genome that they became.
  std::deque<Draft> waiting_;                ///< Those that reduce.
  std::map<std::string, EditSites> sites_;   ///< By file and text.
  std::map<std::string, Subject> subjects_;  ///< By genome.
};

}  // namespace evo
