#include "engine/space/residual.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace evo {

using expr::Failure;
using expr::Interval;
using expr::Op;

namespace {

// Trying so many takes a tenth of a second.
constexpr std::size_t kMaxTried = 200'000;

bool is_boolean(Op op) {
  return expr::is_comparison(op) || op == Op::logical_not || op == Op::is_pow2;
}

std::size_t operand_count(Op op) {
  switch (op) {
    case Op::negate:
    case Op::logical_not:
    case Op::is_pow2:
    case Op::log2:
      return 1;
    case Op::conditional:
      return 3;
    default:
      return 2;
  }
}

}  // namespace

std::size_t ResidualStore::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = static_cast<std::uint64_t>(key.op);
  for (const TermId child : key.children) hash = (hash ^ child) * 0x9E3779B97F4A7C15u;  // Fibonacci hashing
  return static_cast<std::size_t>(hash ^ (hash >> 32));
}

ResidualStore::ResidualStore(const std::vector<Gene>& genes) {
  terms_.emplace_back();  // id 0 is no term: it stands for absent children
  true_ = constant(true);
  false_ = constant(false);
  for (std::size_t i = 0; i < genes.size(); ++i) {
    genes_.push_back(add_gene(genes[i], i));
    alleles_.emplace_back();
    for (const Value& allele : genes[i].alleles) alleles_.back().push_back(constant(allele));
  }
}

TermId ResidualStore::add_gene(const Gene& gene, std::size_t index) {
  Term term;
  term.op = Op::name;
  term.first_gene = index;
  if (std::holds_alternative<std::string>(gene.alleles.front())) {
    term.type = Type::text;
  } else {
    term.type = std::holds_alternative<bool>(gene.alleles.front()) ? Type::boolean : Type::number;
    const auto [least, most] = std::minmax_element(gene.alleles.begin(), gene.alleles.end());
    term.interval = {expr::integer(*least), expr::integer(*most)};
  }
  terms_.push_back(std::move(term));
  return static_cast<TermId>(terms_.size() - 1);
}

TermId ResidualStore::constant(Value value) {
  if (std::holds_alternative<double>(value))
    return failed(fmt::format("constraints compute with integers, not with {}", expr::to_string(value)));
  const auto [found, added] = constants_.emplace(value, static_cast<TermId>(terms_.size()));
  if (!added) return found->second;
  Term term;
  if (std::holds_alternative<std::string>(value)) {
    term.type = Type::text;
  } else {
    term.type = std::holds_alternative<bool>(value) ? Type::boolean : Type::number;
    term.interval = {expr::integer(value), expr::integer(value)};
  }
  term.value = std::move(value);
  terms_.push_back(std::move(term));
  return found->second;
}

TermId ResidualStore::failed(const std::string& reason) {
  const auto [found, added] = failures_.emplace(reason, static_cast<TermId>(terms_.size()));
  if (!added) return found->second;
  Term term;
  term.failed = true;
  term.may_fail = true;
  term.type = Type::mixed;
  term.value = reason;
  terms_.push_back(std::move(term));
  return found->second;
}

std::string ResidualStore::failure(TermId id) const {
  return terms_[id].failed ? std::get<std::string>(terms_[id].value) : std::string();
}

TermId ResidualStore::intern(Term term) {
  const Key key{term.op, term.children};
  const auto [found, added] = interned_.emplace(key, static_cast<TermId>(terms_.size()));
  if (added) terms_.push_back(std::move(term));
  return found->second;
}

TermId ResidualStore::translate(const expr::Node& node, const Resolve& resolve) {
  if (node.op == Op::constant) return constant(node.value);
  if (node.op == Op::name) return resolve(node.name);
  if (expr::is_real_function(node.op)) return failed("constraints compute with integers, not with real functions");
  // Of an integer, or of a boolean, which is a number then.
  if (node.op == Op::to_integer) return make(Op::add, translate(*node.children[0], resolve), constant(std::int64_t{0}));
  if (node.op == Op::numbered) return failed("constraints compute with integers, not with text");
  std::vector<TermId> children;
  for (const auto& child : node.children) children.push_back(translate(*child, resolve));
  if (node.op == Op::chain) {
    TermId all = true_;
    for (std::size_t i = 0; i < node.comparisons.size(); ++i) {
      all = make(Op::logical_and, all, make(node.comparisons[i], children[i], children[i + 1]));
    }
    return all;
  }
  if (node.op == Op::in) {
    TermId any = false_;
    for (std::size_t i = 1; i < children.size(); ++i) {
      any = make(Op::logical_or, any, make(Op::equal, children[0], children[i]));
    }
    return any;
  }
  if (node.op == Op::minimum || node.op == Op::maximum) {
    // One operand alone still has to be a number.
    TermId best = children.size() == 1 ? make(Op::add, children[0], constant(std::int64_t{0})) : children[0];
    for (std::size_t i = 1; i < children.size(); ++i) best = make(node.op, best, children[i]);
    return best;
  }
  children.resize(3, 0);
  return make(node.op, children[0], children[1], children[2]);
}

TermId ResidualStore::make(Op op, TermId a, TermId b, TermId c) {
  switch (op) {
    case Op::logical_and:
    case Op::logical_or:
      return junction(op, a, b);
    case Op::conditional:
      return conditional(a, b, c);
    default:
      return strict(op, {a, b, c}, operand_count(op));
  }
}

TermId ResidualStore::fold(Op op, std::array<TermId, 3> children, std::size_t count) {
  std::array<Value, 3> operands;
  for (std::size_t i = 0; i < count; ++i) operands[i] = terms_[children[i]].value;
  try {
    return constant(expr::operate(op, std::span<const Value>(operands.data(), count)));
  } catch (const Failure& failure) {
    return failed(failure.reason);
  }
}

TermId ResidualStore::strict(Op op, std::array<TermId, 3> children, std::size_t count) {
  const std::span<const TermId> operands(children.data(), count);
  for (const TermId id : operands) {
    if (terms_[id].failed) return id;
  }
  if (std::all_of(operands.begin(), operands.end(), [&](TermId id) { return is_constant(id); })) {
    return fold(op, children, count);
  }
  Term term;
  term.op = op;
  term.children = children;
  term.type = is_boolean(op) ? Type::boolean : Type::number;
  for (const TermId id : operands) {
    term.may_fail |= terms_[id].may_fail;
    term.first_gene = std::min(term.first_gene, terms_[id].first_gene);
  }
  const auto type_of = [&](TermId id) { return terms_[id].type; };
  if (std::all_of(operands.begin(), operands.end(), [&](TermId id) { return is_numeric(id); })) {
    const Interval a = terms_[children[0]].interval;
    const auto interval = count == 1 ? interval_of(op, a) : interval_of(op, a, terms_[children[1]].interval);
    term.may_fail |= !interval;
    term.interval =
        interval.value_or(Interval{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()});
    if (!term.may_fail && term.interval.single()) {
      return is_boolean(op) ? constant(term.interval.lo != 0) : constant(term.interval.lo);
    }
    if (!term.may_fail && count == 2) {
      if (is_commutative(op) && !in_order(children[0], children[1])) std::swap(term.children[0], term.children[1]);
      if (const auto simpler = rewrite(op, term.children[0], term.children[1])) return *simpler;
    }
  } else {
    // Strings can only be compared for equality with strings.
    const bool sound =
        (op == Op::equal || op == Op::not_equal) &&
        std::all_of(operands.begin(), operands.end(), [&](TermId id) { return type_of(id) == Type::text; });
    term.may_fail |= !sound;
    term.interval = is_boolean(op)
                        ? Interval{0, 1}
                        : Interval{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  }
  return intern(std::move(term));
}

TermId ResidualStore::truth(TermId id) {
  if (terms_[id].failed || terms_[id].type == Type::boolean) return id;
  return make(Op::logical_not, make(Op::logical_not, id));
}

TermId ResidualStore::junction(Op op, TermId a, TermId b) {
  const TermId absorbing = op == Op::logical_and ? false_ : true_;
  a = truth(a);
  b = truth(b);
  if (terms_[a].failed || a == absorbing) return a;
  if (is_constant(a) || a == b) return b;
  if (b == absorbing && !terms_[a].may_fail) return b;
  if (is_constant(b) && b != absorbing) return a;
  Term term;
  term.op = op;
  term.children = {a, b, 0};
  term.type = Type::boolean;
  term.interval = {0, 1};
  term.may_fail = terms_[a].may_fail || terms_[b].may_fail;
  term.first_gene = std::min(terms_[a].first_gene, terms_[b].first_gene);
  return intern(std::move(term));
}

TermId ResidualStore::conditional(TermId condition, TermId yes, TermId no) {
  condition = truth(condition);
  if (terms_[condition].failed) return condition;
  if (is_constant(condition)) return condition == true_ ? yes : no;
  if (yes == no && !terms_[condition].may_fail) return yes;
  Term term;
  term.op = Op::conditional;
  term.children = {condition, yes, no};
  term.type = Type::mixed;
  if (terms_[yes].type == terms_[no].type) term.type = terms_[yes].type;
  if (is_numeric(yes) && is_numeric(no)) {
    if (term.type == Type::mixed) term.type = Type::number;
    term.interval = {std::min(terms_[yes].interval.lo, terms_[no].interval.lo),
                     std::max(terms_[yes].interval.hi, terms_[no].interval.hi)};
  }
  term.may_fail = terms_[condition].may_fail || terms_[yes].may_fail || terms_[no].may_fail;
  term.first_gene = std::min({terms_[condition].first_gene, terms_[yes].first_gene, terms_[no].first_gene});
  return intern(std::move(term));
}

TermId ResidualStore::assign(TermId id, std::size_t gene, std::size_t allele) {
  if (terms_[id].first_gene != gene) return id;
  if (const TermId known = branches(id)[allele]; known != 0) return known;
  const TermId result = substitute(id, gene, allele);
  return branches(id)[allele] = result;
}

TermId* ResidualStore::branches(TermId id) {
  if (branches_.size() < terms_.size()) branches_.resize(terms_.size());
  if (branches_[id] == 0) {
    branches_[id] = assigned_.size();
    assigned_.resize(assigned_.size() + alleles_[terms_[id].first_gene].size());
  }
  return assigned_.data() + branches_[id];
}

TermId ResidualStore::canonical(TermId id) {
  if (id < canonical_.size() && canonical_[id] != 0) return canonical_[id];
  const TermId found = find_canonical(id);
  if (found == 0) return id;
  canonical_.resize(std::max(canonical_.size(), terms_.size()));
  return canonical_[id] = found;
}

// 0 when that would take too long.
TermId ResidualStore::find_canonical(TermId id) {
  const std::size_t gene = terms_[id].first_gene;
  if (gene == kNoGene) return id;
  if (++tried_ > kMaxTried) return 0;
  std::vector<TermId> key;
  for (std::size_t allele = 0; allele < alleles_[gene].size(); ++allele) {
    const TermId branch = canonical(assign(id, gene, allele));
    if (!is_canonical(branch)) return 0;
    key.push_back(branch);
  }
  if (std::all_of(key.begin(), key.end(), [&](TermId branch) { return branch == key.front(); })) return key.front();
  std::copy(key.begin(), key.end(), branches(id));
  key.push_back(static_cast<TermId>(gene));
  return by_branches_.emplace(std::move(key), id).first->second;
}

TermId ResidualStore::substitute(TermId id, std::size_t gene, std::size_t allele) {
  const Op op = terms_[id].op;
  if (op == Op::name) return alleles_[gene][allele];
  std::array<TermId, 3> children = terms_[id].children;
  for (std::size_t i = 0; i < operand_count(op); ++i) children[i] = assign(children[i], gene, allele);
  return make(op, children[0], children[1], children[2]);
}

}  // namespace evo
