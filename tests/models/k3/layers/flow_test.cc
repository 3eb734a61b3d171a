#include "models/k3/layers/flow.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

Done Answer(const Next& next, const Pass& pass, const Shape& shape) {
  switch (next.action) {
    case Action::kMultiply:
      return {Event::kMultiplied, next.index, pass.products()[next.index].matrix.rows};
    case Action::kMix:
      return {Event::kMixed, 0, 0};
    case Action::kKda:
      return {Event::kKdaHeads, 0, static_cast<uint32_t>(shape.kda_heads)};
    case Action::kNormQuery:
      return {Event::kQueryNormed, 0, 0};
    case Action::kAppendLatent:
      return {Event::kLatentAppended, 0, 0};
    case Action::kGate:
      return {Event::kGated, 0, 0};
    case Action::kActivate:
      return {Event::kActivated, 0, 0};
    case Action::kChoose:
      return {Event::kChosen, 0, static_cast<uint32_t>(shape.top_k)};
    case Action::kPrepare:
      return {Event::kLatentPrepared, 0, 0};
    case Action::kWantExpert:
      return {Event::kExpertApplied, 0, 0};
    case Action::kGather:
      return {Event::kGathered, 0, 0};
    case Action::kCombine:
      return {Event::kCombined, 0, 0};
    default:
      ADD_FAILURE();
      return {};
  }
}

// Whatever the order in which stages finish, every product runs exactly once a step, every expert
// is wanted once, and the step ends with everything done.
TEST(Flow, AnyOrderOfCompletionRunsEachProductOnce) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  TinyModel tiny;
  const Shape& shape = tiny.shape();
  Flow flow(*tiny.pass, shape);
  for (int run = 0; run < 50; ++run) {
    std::map<uint32_t, int> products;
    int experts = 0;
    int mixes = 0;
    bool committed = false;
    bool latent_prepared = false;  // In this layer: without it no expert can be applied.
    flow.Begin();
    std::vector<Next> open;
    flow.Advance({Event::kEmbedded, 0, 0}, open);
    while (!open.empty()) {
      const size_t i = random() % open.size();
      const Next next = open[i];
      if (next.action == Action::kWantExpert && !latent_prepared) continue;
      open.erase(open.begin() + static_cast<long>(i));
      if (next.action == Action::kMultiply) ++products[next.index];
      if (next.action == Action::kWantExpert) ++experts;
      if (next.action == Action::kMix) ++mixes;
      if (next.action == Action::kCombine) latent_prepared = false;
      if (next.action == Action::kApplyExperts) {
        latent_prepared = true;
        continue;
      }
      if (next.action == Action::kCommit) {
        committed = true;
        EXPECT_TRUE(open.empty()) << "something was still to do";
        continue;
      }
      flow.Advance(Answer(next, *tiny.pass, shape), open);
    }
    EXPECT_TRUE(committed);
    EXPECT_EQ(products.size(), tiny.pass->products().size());
    for (const auto& [product, times] : products) EXPECT_EQ(times, 1) << product;
    EXPECT_EQ(experts, static_cast<int>(8 * shape.top_k));
    EXPECT_EQ(mixes, static_cast<int>(2 * shape.layers + 1));
  }
}

// With products finished strictly in order of use nothing is ever waited for that comes later: a
// ring of one extent cannot deadlock.
TEST(Flow, TheOrderOfUseIsTopological) {
  TinyModel tiny;
  const Shape& shape = tiny.shape();
  Flow flow(*tiny.pass, shape);
  flow.Begin();
  std::set<uint32_t> ready;
  std::vector<Next> open;
  flow.Advance({Event::kEmbedded, 0, 0}, open);
  const auto settle = [&] {  // Everything but products happens at once.
    while (!open.empty()) {
      const Next next = open.back();
      open.pop_back();
      if (next.action == Action::kMultiply) {
        ready.insert(next.index);
      } else if (next.action != Action::kApplyExperts && next.action != Action::kCommit) {
        flow.Advance(Answer(next, *tiny.pass, shape), open);
      }
    }
  };
  for (uint32_t product = 0; product < tiny.pass->products().size(); ++product) {
    settle();
    ASSERT_TRUE(ready.contains(product)) << RoleName(tiny.pass->products()[product].role);
    open.push_back({Action::kMultiply, product});
    const Done done = Answer(open.back(), *tiny.pass, shape);
    open.pop_back();
    flow.Advance(done, open);
  }
}

}  // namespace
}  // namespace penstock::k3
