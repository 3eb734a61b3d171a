#include "models/text/draft/suffix_automaton.h"

#include "runtime/check.h"

namespace penstock::text {
namespace {

// Ancestors whose last place is kept up to date with each id.
constexpr int kRefreshed = 8;

uint64_t HashTransition(uint32_t from, TokenId id) {
  uint64_t x = (uint64_t{from} << 32 | id) * 0x9E3779B97F4A7C15;
  x ^= x >> 32;
  return x * 0xD6E8FEB86659FD93 >> 16;
}

}  // namespace

SuffixAutomaton::SuffixAutomaton() : states_(1), slots_(16, kNone) {}

uint32_t SuffixAutomaton::AddState(State state) {
  states_.push_back(state);
  return static_cast<uint32_t>(states_.size() - 1);
}

size_t SuffixAutomaton::Slot(uint32_t from, TokenId id) {
  size_t slot = HashTransition(from, id) & (slots_.size() - 1);
  for (;; slot = (slot + 1) & (slots_.size() - 1)) {
    ++operations_;
    if (slots_[slot] == kNone) return slot;
    const Edge& edge = edges_[slots_[slot]];
    if (edge.from == from && edge.id == id) return slot;
  }
}

uint32_t* SuffixAutomaton::Follow(uint32_t from, TokenId id) {
  const uint32_t edge = slots_[Slot(from, id)];
  return edge == kNone ? nullptr : &edges_[edge].to;
}

void SuffixAutomaton::Grow() {
  slots_.assign(slots_.size() * 2, kNone);
  for (size_t i = 0; i < edges_.size(); ++i) {
    slots_[Slot(edges_[i].from, edges_[i].id)] = static_cast<uint32_t>(i);
  }
}

void SuffixAutomaton::AddEdge(uint32_t from, TokenId id, uint32_t to) {
  if ((edges_.size() + 1) * 2 > slots_.size()) Grow();
  const auto edge = static_cast<uint32_t>(edges_.size());
  slots_[Slot(from, id)] = edge;
  edges_.push_back({from, id, to, states_[from].edges});
  states_[from].edges = edge;
}

// A state for the strings of `state` up to `length`, which from now on occur in more places than
// the longer ones.
uint32_t SuffixAutomaton::Clone(uint32_t state, uint32_t length) {
  const State& original = states_[state];
  const uint32_t clone = AddState({length, original.link, original.end, kNone});
  for (uint32_t edge = states_[state].edges; edge != kNone; edge = edges_[edge].next) {
    ++operations_;
    AddEdge(clone, edges_[edge].id, edges_[edge].to);
  }
  return clone;
}

void SuffixAutomaton::Append(TokenId id) {
  PENSTOCK_CHECK(size_ < size_t{1} << 30);
  ++size_;
  const auto length = static_cast<uint32_t>(size_);
  const uint32_t added = AddState({length, 0, length, kNone});
  uint32_t from = last_;
  uint32_t* to = nullptr;
  while (from != kNone && (to = Follow(from, id)) == nullptr) {
    AddEdge(from, id, added);
    from = states_[from].link;
  }
  if (from != kNone) {
    const uint32_t next = *to;
    const uint32_t matched = states_[from].length + 1;
    uint32_t link = next;
    if (states_[next].length != matched) {
      link = Clone(next, matched);
      for (; from != kNone && (to = Follow(from, id)) != nullptr && *to == next;
           from = states_[from].link) {
        *to = link;
      }
      states_[next].link = link;
    }
    states_[added].link = link;
  }
  last_ = added;
  const uint32_t link = states_[added].link;
  match_ = {states_[link].length, states_[link].end};
  Refresh(link);
}

void SuffixAutomaton::Refresh(uint32_t state) {
  for (int i = 0; i <= kRefreshed && state != 0; ++i, state = states_[state].link) {
    ++operations_;
    states_[state].end = static_cast<uint32_t>(size_);
  }
}

}  // namespace penstock::text
