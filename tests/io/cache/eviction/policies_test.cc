#include "io/cache/eviction/policies.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "io/cache/eviction/belady.h"
#include "io/cache/eviction/round.h"
#include "io/cache/eviction/sieve.h"

namespace penstock::io {
namespace {

using Keys = std::vector<BlockKey>;

uint64_t HitsOf(std::string_view name, size_t slots, const Keys& requests, size_t keys,
                size_t round) {
  const auto policy = MakePolicy(name, {slots, keys, round});
  EXPECT_NE(policy, nullptr) << name;
  return Replay(*policy, slots, requests).hits;
}

uint64_t BeladyHits(size_t slots, const Keys& requests) {
  BeladyPolicy policy(slots, requests);
  return Replay(policy, slots, requests).hits;
}

// The most hits that any choice of victims reaches, by trying them all.
uint64_t MostHits(const Keys& requests, size_t at, std::set<BlockKey> resident, size_t slots) {
  for (; at < requests.size(); ++at) {
    const BlockKey key = requests[at];
    if (resident.contains(key)) return 1 + MostHits(requests, at + 1, std::move(resident), slots);
    if (resident.size() < slots) {
      resident.insert(key);
      continue;
    }
    uint64_t most = 0;
    for (const BlockKey victim : resident) {
      std::set<BlockKey> rest = resident;
      rest.erase(victim);
      rest.insert(key);
      most = std::max(most, MostHits(requests, at + 1, std::move(rest), slots));
    }
    return most;
  }
  return 0;
}

Keys RandomKeys(std::mt19937& random, size_t count, size_t keys) {
  Keys requests(count);
  for (BlockKey& key : requests) key = random() % keys;
  return requests;
}

TEST(EvictionPolicies, BeladyIsWhatTryingEverythingFinds) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int run = 0; run < 300; ++run) {
    const size_t slots = 1 + random() % 3;
    const Keys requests = RandomKeys(random, 11, 5);
    EXPECT_EQ(BeladyHits(slots, requests), MostHits(requests, 0, {}, slots))
        << "run " << run << ", slots " << slots;
  }
}

TEST(EvictionPolicies, NoneBeatsBeladyAndAllAreEqualWhereEverythingFits) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int run = 0; run < 50; ++run) {
    const size_t keys = 2 + random() % 30;
    const Keys requests = RandomKeys(random, 400, keys);
    const size_t distinct = std::set<BlockKey>(requests.begin(), requests.end()).size();
    for (const size_t slots : {size_t{1}, keys / 2 + 1, keys}) {
      const uint64_t bound = BeladyHits(slots, requests);
      for (const std::string_view name : PolicyNames()) {
        const uint64_t hits = HitsOf(name, slots, requests, keys, keys);
        EXPECT_LE(hits, bound) << name << ", slots " << slots;
        if (slots == keys) {
          EXPECT_EQ(hits, requests.size() - distinct) << name;
        }
      }
    }
  }
}

TEST(EvictionPolicies, LruIsTheOneWrittenDown) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const Keys requests = RandomKeys(random, 3000, 20);
  Keys recent;  // Oldest first.
  uint64_t hits = 0;
  for (const BlockKey key : requests) {
    const auto found = std::find(recent.begin(), recent.end(), key);
    if (found != recent.end()) {
      ++hits;
      recent.erase(found);
    } else if (recent.size() == 7) {
      recent.erase(recent.begin());
    }
    recent.push_back(key);
  }
  EXPECT_EQ(HitsOf("lru", 7, requests, 20, 20), hits);
}

// Each count starts at the first request and is never halved: the run is shorter than the ageing.
TEST(EvictionPolicies, LfuIsTheOneWrittenDown) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const Keys requests = RandomKeys(random, 69, 20);
  std::map<BlockKey, std::pair<int, size_t>> uses;
  std::set<BlockKey> resident;
  uint64_t hits = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    const BlockKey key = requests[i];
    ++uses[key].first;
    uses[key].second = i;
    hits += resident.contains(key) ? 1 : 0;
    if (!resident.contains(key) && resident.size() == 7) {
      resident.erase(*std::min_element(resident.begin(), resident.end(),
                                       [&](auto a, auto b) { return uses[a] < uses[b]; }));
    }
    resident.insert(key);
  }
  EXPECT_EQ(HitsOf("lfu", 7, requests, 20, 20), hits);
}

TEST(EvictionPolicies, LfuForgetsWhatWasWantedLongAgo) {
  Keys requests(100, 0);
  for (int i = 0; i < 400; ++i) requests.push_back(1 + i % 2);
  EXPECT_GT(HitsOf("lfu", 2, requests, 3, 3), 99u + 300u);
}

// The queue of the paper's example of the hand: A..G with B, E and G marked.
TEST(EvictionPolicies, SieveSweepsMarksFromOldToNew) {
  SievePolicy sieve(7);
  for (BlockSlot slot = 0; slot < 7; ++slot) sieve.Insert(slot, slot);
  for (const BlockSlot slot : {0u, 2u, 3u}) sieve.Hit(slot, slot);
  const EvictionPolicy::Idle idle(7, 1);
  EXPECT_EQ(sieve.Victim(idle), 1u) << "0 was marked";
  sieve.Remove(1, 1);
  sieve.Insert(7, 1);
  EXPECT_EQ(sieve.Victim(idle), 4u) << "2 and 3 were marked; what came last is behind the hand";
}

// The same experts in the same order, a token after another: what a cache that is too small sees.
TEST(EvictionPolicies, AScanThatDoesNotFitLeavesLruNothingAndRoundAlmostAllThereIs) {
  Keys requests;
  for (int round = 0; round < 200; ++round) {
    for (BlockKey key = 0; key < 32; ++key) requests.push_back(key);
  }
  EXPECT_EQ(HitsOf("lru", 16, requests, 32, 32), 0u);
  EXPECT_GE(HitsOf("round", 16, requests, 32, 32), BeladyHits(16, requests) * 95 / 100);
}

TEST(EvictionPolicies, RoundKeepsWhatIsWantedOften) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  Keys requests;
  for (int round = 0; round < 300; ++round) {
    for (BlockKey layer = 0; layer < 4; ++layer) {
      requests.push_back(layer * 32 + random() % 2);  // One of two favourites,
      requests.push_back(layer * 32 + 2 + random() % 30);
    }
  }
  const uint64_t favourites = requests.size() / 2;
  EXPECT_GE(HitsOf("round", 10, requests, 128, 8), favourites * 8 / 10);
  EXPECT_LE(HitsOf("lru", 10, requests, 128, 8), favourites * 7 / 10);
}

TEST(EvictionPolicies, AHeldBlockIsNeverTheVictim) {
  for (const std::string_view name : PolicyNames()) {
    const auto policy = MakePolicy(name, {4, 8, 8});
    for (BlockSlot slot = 0; slot < 4; ++slot) {
      policy->Miss(slot);
      policy->Insert(slot, slot);
      policy->Hit(slot, slot);
    }
    for (BlockSlot only = 0; only < 4; ++only) {
      EvictionPolicy::Idle idle(4, 0);
      idle[only] = 1;
      EXPECT_EQ(policy->Victim(idle), only) << name;
    }
  }
}

TEST(EvictionPolicies, AnUnknownNameGivesNone) {
  EXPECT_EQ(MakePolicy("clock", {1, 1, 1}), nullptr);
  EXPECT_EQ(MakePolicy("belady", {1, 1, 1}), nullptr) << "it needs the future";
}

}  // namespace
}  // namespace penstock::io
