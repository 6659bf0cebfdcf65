#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/base/hash.h"
#include "engine/expression/expression_node.h"
#include "engine/expression/interval.h"
#include "engine/task/family.h"

namespace evo {

using TermId = std::uint32_t;

/// What is left of expressions over genes while the genes are assigned one after the other. Equal residuals
/// have equal ids: terms are interned, constants folded, and comparisons folded too once the ranges of the
/// genes that are still open decide them ("32 * warps + 64 <= 2048" is true when warps is at most 8). A term
/// that may fail (division by zero) is never folded away, so a residual has the value or failure of its
/// expression for every completion.
class ResidualStore {
 public:
  explicit ResidualStore(const std::vector<Gene>& genes);

  /// Translates an expression; `resolve` gives the term of each name it reads.
  using Resolve = std::function<TermId(const std::string& name)>;
  TermId translate(const expr::Node& node, const Resolve& resolve);

  TermId constant(Value value);
  TermId gene(std::size_t index) const { return genes_[index]; }
  /// As true or false.
  TermId truth(TermId id);
  /// The term with one gene replaced by an allele. Genes must be assigned in order. Of a canonical term:
  /// canonical.
  TermId assign(TermId id, std::size_t gene, std::size_t allele);
  /// The first term met that has the same value, or failure, as this one for every completion; it is found by
  /// trying these, those of equal terms once. Where that would take too long, the term itself.
  TermId canonical(TermId id);
  bool is_canonical(TermId id) const { return id < canonical_.size() && canonical_[id] == id; }
  bool reads(TermId id, std::size_t gene) const { return terms_[id].first_gene == gene; }

  /// How much it holds: terms, and those that assigning one made.
  std::size_t size() const { return terms_.size() + assigned_.size(); }

  bool is_true(TermId id) const { return id == true_; }
  bool is_false(TermId id) const { return id == false_; }
  bool is_conjunction(TermId id) const { return terms_[id].op == expr::Op::logical_and && !terms_[id].failed; }
  TermId left(TermId id) const { return terms_[id].children[0]; }
  TermId right(TermId id) const { return terms_[id].children[1]; }
  /// Why the term has no value; empty unless it has none for certain.
  std::string failure(TermId id) const;

 private:
  enum class Type : std::uint8_t { number, boolean, text, mixed };
  static constexpr std::size_t kNoGene = std::numeric_limits<std::size_t>::max();

  struct Term {
    expr::Op op = expr::Op::constant;
    bool failed = false;
    bool may_fail = false;
    Type type = Type::number;
    std::array<TermId, 3> children{};
    std::size_t first_gene = kNoGene;  ///< The first open gene it reads.
    expr::Interval interval;           ///< Unless type is text or mixed.
    Value value;                       ///< A constant; the reason of a failure.
  };
  struct Key {
    expr::Op op;
    std::array<TermId, 3> children;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  bool is_constant(TermId id) const { return terms_[id].op == expr::Op::constant && !terms_[id].failed; }
  bool is_numeric(TermId id) const { return terms_[id].type == Type::number || terms_[id].type == Type::boolean; }
  TermId add_gene(const Gene& gene, std::size_t index);
  TermId failed(const std::string& reason);
  TermId intern(Term term);
  TermId make(expr::Op op, TermId a, TermId b = 0, TermId c = 0);
  TermId strict(expr::Op op, std::array<TermId, 3> children, std::size_t count);
  TermId fold(expr::Op op, std::array<TermId, 3> children, std::size_t count);
  TermId junction(expr::Op op, TermId a, TermId b);
  TermId conditional(TermId condition, TermId yes, TermId no);
  // residual_rewrite.cpp; empty: leave it as it is.
  static bool is_commutative(expr::Op op);
  bool in_order(TermId a, TermId b) const;
  bool ends_in_constant(TermId id, expr::Op op) const;
  std::optional<TermId> sound(expr::Op op, TermId a, TermId b);
  std::optional<TermId> sound(expr::Op op, std::optional<TermId> a, std::optional<TermId> b);
  std::optional<TermId> rewrite(expr::Op op, TermId a, TermId b);
  std::optional<TermId> rewrite_associative(expr::Op op, std::int64_t neutral, TermId a, TermId b);
  std::optional<TermId> rewrite_difference(TermId a, TermId b);
  std::optional<TermId> rewrite_comparison(expr::Op op, TermId a, TermId b);

  /// What each allele of its first gene makes of a term, as far as that is known.
  TermId* branches(TermId id);
  TermId substitute(TermId id, std::size_t gene, std::size_t allele);
  TermId find_canonical(TermId id);

  std::vector<Term> terms_;
  std::vector<TermId> genes_;
  std::vector<std::vector<TermId>> alleles_;
  std::map<Value, TermId> constants_;
  std::map<std::string, TermId> failures_;
  std::unordered_map<Key, TermId, KeyHash> interned_;
  std::vector<std::size_t> branches_;   // by term: where its assigned_ are; 0: nowhere yet
  std::vector<TermId> assigned_ = {0};  // by allele of a term's first gene; 0: not known
  std::vector<TermId> canonical_;       // by term; 0: not known
  std::unordered_map<std::vector<TermId>, TermId, SequenceHash> by_branches_;
  std::size_t tried_ = 0;
  TermId true_ = 0;
  TermId false_ = 0;
};

}  // namespace evo
