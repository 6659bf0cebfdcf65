#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace evo {

/// Values by key within a budget of bytes. The least recently used goes first. A value larger than the budget stays
/// until the next one is put in.
template <class Value>
class RecentlyUsed {
 public:
  explicit RecentlyUsed(std::size_t budget) : budget_(budget) {}

  /// Null when there is none. Valid until the value goes.
  const Value* find(std::string_view key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->value;
  }

  bool contains(std::string_view key) const { return by_key_.contains(key); }

  /// Drops values until `bytes` more fit, or none is left.
  void make_room(std::size_t bytes) {
    while (!entries_.empty() && bytes_ + bytes > budget_) {
      const Entry& oldest = entries_.back();
      bytes_ -= oldest.bytes;
      by_key_.erase(oldest.key);
      entries_.pop_back();
    }
  }

  /// Puts in a value of so many bytes and drops others where it needs the room. A key that is there keeps its value.
  void put(std::string key, Value value, std::size_t bytes) {
    if (by_key_.contains(key)) return;
    make_room(bytes);
    entries_.push_front({std::move(key), std::move(value), bytes});
    by_key_.emplace(entries_.front().key, entries_.begin());
    bytes_ += bytes;
  }

 private:
  struct Entry {
    std::string key;
    Value value;
    std::size_t bytes;
  };

  std::size_t budget_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;                                                          // the most recently used first
  std::unordered_map<std::string_view, typename std::list<Entry>::iterator> by_key_;  // keys are those of entries_
};

}  // namespace evo
