#include "engine/attack/attack_search.h"

#include <algorithm>

namespace evo {
namespace {

/// mu and lambda. A generation is small: a virtual GPU makes a few tries a second.
constexpr std::size_t kParents = 12, kChildren = 8;
/// Attacks before the first child.
constexpr std::size_t kFirst = 48;
/// Of what follows: what no parent leads to is found, too.
constexpr double kOpeningShare = 0.25, kRandomShare = 0.2, kCrossedShare = 0.2;

}  // namespace

AttackSearch::AttackSearch(AttackSpace space, std::uint64_t seed)
    : space_(std::move(space)), rng_(seed), opening_(opening_attacks(space_, rng_)) {}

std::vector<Attack> AttackSearch::ask() {
  std::vector<Attack> generation;
  for (std::size_t i = 0; i < kChildren; ++i, ++asked_) generation.push_back(next());
  return generation;
}

Attack AttackSearch::next() {
  const double choice = rng_.unit();
  if (asked_ < kFirst || best_.empty() || choice < kOpeningShare) return opening();
  if (choice < kOpeningShare + kRandomShare) return random_attack(space_, rng_);
  Attack child = parent();
  if (rng_.unit() < kCrossedShare) child = crossed(child, parent(), rng_);
  return mutated(space_, child, rng_);
}

/// Of the opening while it lasts.
Attack AttackSearch::opening() {
  return opened_ < opening_.size() ? opening_[opened_++] : random_attack(space_, rng_);
}

void AttackSearch::tell(const std::vector<Attacked>& generation) {
  for (const Attacked& one : generation) {
    const auto same = std::ranges::find(best_, one.attack, &Attacked::attack);
    if (same == best_.end()) best_.push_back(one);
  }
  std::ranges::stable_sort(best_, std::ranges::greater{}, &Attacked::error);
  if (best_.size() > kParents) best_.resize(kParents);
}

/// The better of two.
const Attack& AttackSearch::parent() {
  return best_[std::min(rng_.below(best_.size()), rng_.below(best_.size()))].attack;
}

}  // namespace evo
