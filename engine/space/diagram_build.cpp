#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "engine/base/error.h"
#include "engine/space/diagram.h"
#include "engine/space/residual.h"
#include "engine/task/error_context.h"
#include "engine/task/scope.h"

namespace evo {
namespace {

// A diagram of this size takes seconds and some hundred megabytes; real families stay orders of magnitude below.
constexpr std::size_t kMaxStates = 300'000;
constexpr std::size_t kMaxTerms = 3'000'000;

}  // namespace

/// Builds depth first. A partial genome's state is what is left of everything that still matters: the
/// conditions of later genes (`when`) and the constraints; equal states have equal completions.
class Diagram::Builder {
 public:
  Builder(Diagram& diagram, const Family& family, const Bindings& facts, const std::vector<Bindings>& specialisations)
      : family_(family),
        facts_(facts),
        specialisations_(specialisations),
        store_(family.genes),
        reducer_(diagram.graph_, family.genes.size()),
        states_(family.genes.size()) {
    for (const auto& [name, value] : facts) names_[name] = store_.constant(value);
    for (std::size_t i = 0; i < family.genes.size(); ++i) names_[family.genes[i].name] = store_.gene(i);
    State start;
    for (const Gene& gene : family.genes) start.push_back(store_.canonical(store_.truth(translate(gene.when, {}))));
    std::vector<TermId> constraints;
    for (const Bindings& specialisation : specialisations) add_constraints(specialisation, constraints);
    if (normalise(constraints)) {
      start.insert(start.end(), constraints.begin(), constraints.end());
      diagram.root_ = build(0, start);
    }
  }

 private:
  // At a level: the conditions of the genes from this level on, then the constraints, sorted, each once.
  using State = std::vector<TermId>;

  TermId translate(const Expression& expression, const std::map<std::string, TermId>& locals) {
    return store_.translate(expression.root(), [&](const std::string& name) {
      if (const auto local = locals.find(name); local != locals.end()) return local->second;
      if (const auto found = names_.find(name); found != names_.end()) return found->second;
      throw usage_error(fmt::format("family {}: '{}' reads unknown name '{}'", family_.name, expression.text(), name));
    });
  }

  void add_constraints(const Bindings& specialisation, std::vector<TermId>& constraints) {
    std::map<std::string, TermId> locals;
    for (const auto& [name, value] : specialisation) locals[name] = store_.constant(value);
    for (const Derived& derived : family_.derived) {
      const std::vector<std::string> read = derived.value.names();
      const bool known = std::all_of(read.begin(), read.end(), [&](const std::string& name) {
        return locals.contains(name) || names_.contains(name);
      });
      // Values that need a parameter of the launch cannot take part in constraints.
      if (known) locals[derived.name] = translate(derived.value, locals);
    }
    for (const Constraint& constraint : family_.constraints) {
      constraints.push_back(store_.truth(translate(constraint.condition, locals)));
    }
  }

  // Splits conjunctions, drops what holds. False when one is broken.
  bool normalise(std::vector<TermId>& constraints) {
    for (std::size_t i = 0; i < constraints.size();) {
      const bool splits = store_.is_conjunction(constraints[i]) && !store_.is_canonical(constraints[i]);
      const TermId id = splits ? constraints[i] : store_.canonical(constraints[i]);
      if (store_.is_false(id)) return false;
      if (store_.is_true(id)) {
        constraints[i] = constraints.back();
        constraints.pop_back();
      } else if (splits) {
        constraints[i] = store_.left(id);
        constraints.push_back(store_.right(id));
      } else {
        constraints[i++] = id;
      }
    }
    std::sort(constraints.begin(), constraints.end());
    constraints.erase(std::unique(constraints.begin(), constraints.end()), constraints.end());
    return true;
  }

  NodeId build(std::size_t level, const State& state) {
    if (level == family_.genes.size()) {
      if (!state.empty()) fail(failing_constraint(), store_.failure(state.front()));
      return DiagramGraph::kEnd;
    }
    const auto [known, added] = states_[level].try_emplace(state, DiagramGraph::kDead);
    if (!added) return known->second;
    NodeId& node = known->second;  // stays where it is when others are added
    if (++state_count_ > kMaxStates || store_.size() > kMaxTerms) {
      throw usage_error(
          fmt::format("family {}: its constraints tie more genes together than can be counted; split the family, "
                      "or move genes that share constraints next to each other",
                      family_.name));
    }
    const TermId when = state.front();
    if (const std::string failure = store_.failure(when); !failure.empty()) {
      fail(family_.genes[level].when.text(), failure);
    }
    const bool active = store_.is_true(when);
    const std::size_t alleles = active ? family_.genes[level].alleles.size() : 1;
    const bool matters = std::any_of(state.begin(), state.end(), [&](TermId id) { return store_.reads(id, level); });
    std::vector<NodeId> children;
    for (std::size_t allele = 0; allele < alleles; ++allele) {
      if (allele > 0 && !matters) {
        children.push_back(children.front());
        continue;
      }
      path_.push_back(allele);
      children.push_back(descend(level, state, allele));
      path_.pop_back();
    }
    return node = reducer_.node(level, active, children);
  }

  NodeId descend(std::size_t level, const State& state, std::size_t allele) {
    const std::size_t rest = family_.genes.size() - level;
    State next;
    next.reserve(state.size());
    for (std::size_t i = 1; i < rest; ++i) next.push_back(store_.assign(state[i], level, allele));
    std::vector<TermId> constraints;
    constraints.reserve(state.size());
    for (std::size_t i = rest; i < state.size(); ++i) constraints.push_back(store_.assign(state[i], level, allele));
    if (!normalise(constraints)) return DiagramGraph::kDead;
    next.insert(next.end(), constraints.begin(), constraints.end());
    return build(level + 1, next);
  }

  // The constraint that has no value for the genome at hand.
  std::string failing_constraint() const {
    Genome genome{family_.name, {}};
    for (std::size_t i = 0; i < path_.size(); ++i)
      genome.genes[family_.genes[i].name] = family_.genes[i].alleles[path_[i]];
    for (const Bindings& specialisation : specialisations_) {
      const Bindings known = joined(facts_, specialisation);
      const Bindings scope = scope_of(family_, genome, known);
      for (const Constraint& constraint : family_.constraints) {
        try {
          constraint.condition.evaluate_bool(scope);
        } catch (const Error&) {
          return constraint.condition.text();
        }
      }
    }
    return "a constraint";
  }

  // An expression has no value for the genome at hand, and no constraint excludes the genome.
  [[noreturn]] void fail(const std::string& expression, const std::string& reason) const {
    std::string genome;
    for (std::size_t i = 0; i < path_.size(); ++i) {
      const Gene& gene = family_.genes[i];
      genome += fmt::format(" {}={}", gene.name, expr::to_string(gene.alleles[path_[i]]));
    }
    throw usage_error(
        fmt::format("{}: '{}' cannot be evaluated for{}: {}", file_of(family_), expression, genome, reason));
  }

  const Family& family_;
  const Bindings& facts_;
  const std::vector<Bindings>& specialisations_;
  ResidualStore store_;
  DiagramReducer reducer_;
  std::map<std::string, TermId> names_;
  std::vector<std::unordered_map<State, NodeId, SequenceHash>> states_;
  std::vector<std::size_t> path_;
  std::size_t state_count_ = 0;
};

Diagram::Diagram(const Family& family, const Bindings& facts, const std::vector<Bindings>& specialisations)
    : levels_(family.genes.size()) {
  Builder(*this, family, facts, specialisations.empty() ? std::vector<Bindings>{{}} : specialisations);
}

}  // namespace evo
