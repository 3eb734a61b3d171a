// A version, written and read back, is the version: what it hashes to, and every row of logits that
// is computed from it. What is not exactly that file is refused.
#include "models/k3/state/saved_state.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "models/k3/engine.h"
#include "ops/attention.h"
#include "runtime/small_file.h"
#include "tests/models/k3/state/small_state.h"
#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

constexpr size_t kSavedMost = 5;  // Positions of a step.

std::string SavedPath(const char* name = "state") {
  return testing::TempDir() + "penstock_" + name + "_" + std::to_string(getpid());
}

std::unique_ptr<Engine> OpenForSaving(size_t context, const std::string& directory = kTiny) {
  PipelineOptions options;
  options.positions = kSavedMost;
  auto engine = Engine::Open(directory, context, options, BufferedPread(), nullptr);
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  return engine ? std::move(*engine) : nullptr;
}

std::vector<text::TokenId> SavedIds(std::mt19937& random, size_t count) {
  std::vector<text::TokenId> ids(count);
  for (text::TokenId& id : ids) id = static_cast<text::TokenId>(random() % 2048);
  return ids;
}

// Consumes ids up to `end`, in steps of random lengths of which the last positions are wrong drafts.
text::StateRef ConsumeTo(Engine& engine, text::StateRef state, size_t end,
                         const std::vector<text::TokenId>& ids, std::mt19937& random) {
  while (state->position() < end) {
    const size_t first = state->position();
    const size_t right = std::min(1 + random() % kSavedMost, end - first);
    const size_t count = std::min({right + random() % 3, kSavedMost, engine.max_context() - first});
    std::vector<text::TokenId> tokens(count);
    for (size_t t = 0; t < count; ++t) {
      tokens[t] = t < right ? ids[first + t] : static_cast<text::TokenId>(random() % 2048);
    }
    auto step = engine.Step(state, tokens);
    EXPECT_TRUE(step.has_value()) << step.error().message;
    if (!step) return nullptr;
    state = step->after[right - 1];
  }
  return state;
}

// The rows of logits of the ids from the state's position on, one position at a time.
std::vector<float> RowsFrom(Engine& engine, text::StateRef state,
                            const std::vector<text::TokenId>& ids) {
  std::vector<float> rows;
  for (size_t at = state->position(); at < ids.size(); ++at) {
    auto step = engine.Step(state, std::span(&ids[at], 1));
    EXPECT_TRUE(step.has_value()) << step.error().message;
    if (!step) break;
    state = step->after[0];
    rows.insert(rows.end(), step->logits.begin(), step->logits.end());
  }
  return rows;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

SavedSequence SequenceOf(const std::vector<text::TokenId>& ids) {
  SavedSequence sequence;
  sequence.ids = ids;
  sequence.prompt = 1;
  return sequence;
}

Result<text::StateRef> RestoreFrom(Engine& engine, const std::string& path) {
  PENSTOCK_TRY(SavedState saved, SavedState::Open(path));
  return engine.Restore(saved);
}

TEST(NumericSavedState, GoesOnWithTheBitsOfTheRunThatWasNotInterrupted) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto ids = SavedIds(random, 72);
  const auto engine = OpenForSaving(80);
  for (const size_t position : {size_t{1}, size_t{63}, size_t{64}, size_t{65}, 2 + random() % 60}) {
    SCOPED_TRACE(testing::Message() << "position " << position);
    text::StateRef state = ConsumeTo(*engine, engine->EmptyState(), position, ids, random);
    const uint64_t fold = engine->Fold(state);
    const auto bytes = engine->Save(SavedPath(), state, SequenceOf(ids));
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_EQ(*bytes, std::filesystem::file_size(SavedPath()));
    EXPECT_EQ(engine->Fold(state), fold) << "it stays as it was";
    const std::vector<float> rows = RowsFrom(*engine, state, ids);
    EXPECT_EQ(engine->Fold(state), fold) << "and readable";
    state.reset();
    // In the same store and in another one, whose context is just long enough.
    const auto other = OpenForSaving(ids.size());
    for (Engine* const into : {engine.get(), other.get()}) {
      auto restored = RestoreFrom(*into, SavedPath());
      ASSERT_TRUE(restored) << restored.error().message;
      EXPECT_EQ((*restored)->position(), position);
      EXPECT_EQ(into->Fold(*restored), fold);
      EXPECT_TRUE(SameBits(RowsFrom(*into, *restored, ids), rows));
      EXPECT_EQ(into->Fold(*restored), fold) << "what is held while others go on from it";
      const text::StateRef end = ConsumeTo(*into, *restored, ids.size(), ids, random);
      EXPECT_EQ(end->position(), ids.size());
    }
  }
  std::filesystem::remove(SavedPath());
}

// The first branch extends the page of the restored version, the second one copies it.
TEST(NumericSavedState, TwoBranchesOfARestoredVersionDoNotMeet) {
  std::mt19937 random(7);
  const auto ids = SavedIds(random, 70);
  const auto engine = OpenForSaving(80);
  ASSERT_TRUE(engine->Save(SavedPath(), ConsumeTo(*engine, engine->EmptyState(), 66, ids, random),
                           SequenceOf(ids)));
  auto restored = *RestoreFrom(*engine, SavedPath());
  const uint64_t fold = engine->Fold(restored);
  auto other = ids;
  other[66] ^= 1;
  const std::vector<float> rows = RowsFrom(*engine, restored, ids);
  EXPECT_FALSE(SameBits(RowsFrom(*engine, restored, other), rows));
  EXPECT_TRUE(SameBits(RowsFrom(*engine, restored, ids), rows));
  EXPECT_EQ(engine->Fold(restored), fold);
  std::filesystem::remove(SavedPath());
}

TEST(SavedState, RestoringTakesMemoryOnceAndGivesItBack) {
  const auto store = *StateStore::Create(SmallShape(), 128, 2);
  const size_t bases = store->free_bases(), pages = store->free_pages();
  for (const size_t position : {1, 64, 65, 128}) {
    auto restored = store->Restore(position);
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ((*restored)->position(), position);
    EXPECT_EQ(store->free_bases(), bases - 2);
    EXPECT_EQ(store->free_pages(), pages - (position + 63) / 64);
    EXPECT_EQ((*restored)->log->pages[0].back()->filled, (position - 1) % 64 + 1);
    restored = Failed("dropped");
    EXPECT_EQ(store->free_bases(), bases);
    EXPECT_EQ(store->free_pages(), pages);
  }
  const auto beyond = store->Restore(129);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, ErrorCode::kRefused);
  const auto first = *store->Restore(1), second = *store->Restore(1);
  const auto third = store->Restore(1);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::kFailed);
  EXPECT_EQ(store->free_bases(), bases - 4) << "what it had taken is back";
}

// --- what is refused ---

// A small state whose file is changed.
struct SavedFile : testing::Test {
  SavedFile() {
    const auto version = *store->Restore(70);
    for (const auto& base : version->log->bases) Fill(base->memory);
    for (const auto& page : version->log->pages[0]) Fill(page->buffer);
    fold = FoldState(*version, ops::ScalarKernels(), taps);
    EXPECT_TRUE(SaveState(path, owner, sequence, *version, ops::ScalarKernels(), taps));
    whole = *ReadSmallFile(path);
  }
  ~SavedFile() override { std::filesystem::remove(path); }
  void Fill(const MutableBuffer& memory) {
    auto* const floats = reinterpret_cast<float*>(memory.data());
    for (size_t i = 0; i < memory.size() / sizeof(float); ++i) {
      floats[i] = static_cast<float>(random() % 1000);
    }
  }
  void Put(const std::string& bytes) const {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  Result<std::shared_ptr<const SequenceState>> Load(const StateOwner& whose,
                                                    StateStore& into) const {
    PENSTOCK_TRY(SavedState saved, SavedState::Open(path));
    return saved.Load(whose, into);
  }
  void ExpectRefused(const StateOwner& whose, StateStore& into,
                     const std::vector<std::string>& named = {}) const {
    const size_t bases = into.free_bases(), pages = into.free_pages();
    const auto loaded = Load(whose, into);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, ErrorCode::kRefused) << loaded.error().message;
    EXPECT_EQ(ExitCode(loaded.error()), 2);
    for (const std::string& part : named) {
      EXPECT_NE(loaded.error().message.find(part), std::string::npos) << loaded.error().message;
    }
    EXPECT_EQ(into.free_bases(), bases);
    EXPECT_EQ(into.free_pages(), pages);
  }

  unsigned seed = std::random_device{}();
  testing::ScopedTrace trace{__FILE__, __LINE__, "seed " + std::to_string(seed)};
  std::mt19937 random{seed};
  const std::string path = SavedPath("small_state");
  const SmallTaps small_taps;
  const std::vector<KdaTaps> taps{2, small_taps.first_head()};
  const StateOwner owner{ConfigDigest("config"), std::string(32, 'a')};
  const SavedSequence sequence = SequenceOf(std::vector<text::TokenId>(71, 3));
  std::shared_ptr<StateStore> store = *StateStore::Create(SmallShape(), 100, 2);
  uint64_t fold = 0;
  std::string whole;
};

TEST_F(SavedFile, IsReadBackAsItIs) {
  const auto loaded = Load(owner, *store);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(FoldState(**loaded, ops::ScalarKernels(), taps), fold);
}

TEST_F(SavedFile, AnyBitThatIsFlippedIsRefused) {
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole;
    const size_t bit = random() % (8 * bytes.size());
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    Put(bytes);
    SCOPED_TRACE(testing::Message() << "bit " << bit);
    ExpectRefused(owner, *store);
  }
}

TEST_F(SavedFile, AnyPartOfItIsRefused) {
  for (int i = 0; i < 200; ++i) {
    Put(whole.substr(0, random() % whole.size()));
    ExpectRefused(owner, *store);
  }
  Put(whole + "x");
  ExpectRefused(owner, *store);
}

TEST_F(SavedFile, OfAnotherOwnerIsRefusedWithBoth) {
  const StateOwner checkpoint{owner.config, std::string(32, 'b')};
  ExpectRefused(checkpoint, *store, {owner.checkpoint_id, checkpoint.checkpoint_id, path});
  const StateOwner config{ConfigDigest("other"), owner.checkpoint_id};
  ExpectRefused(config, *store, {owner.config, config.config, path});
}

TEST_F(SavedFile, OfAnotherShapeIsRefusedWithBoth) {
  Shape shape = SmallShape();
  std::swap(shape.kv_rank, shape.rope);  // The same page width.
  EXPECT_TRUE(Load(owner, **StateStore::Create(shape, 100)));
  shape.kv_rank = 9;
  ExpectRefused(owner, **StateStore::Create(shape, 100), {" 8", " 14"});
  shape = SmallShape();
  std::swap(shape.kda_heads, shape.kda_width);
  ExpectRefused(owner, **StateStore::Create(shape, 100), {"2 heads of 4", "4 heads of 2"});
}

TEST_F(SavedFile, LargerThanTheContextIsRefusedWithBoth) {
  ExpectRefused(owner, **StateStore::Create(SmallShape(), 69), {"70", "69"});
  EXPECT_TRUE(Load(owner, **StateStore::Create(SmallShape(), 70)));
}

TEST_F(SavedFile, WhoseFactsPromiseAnotherPayloadIsRefused) {
  const std::string facts =
      FormatFacts({owner, SavedState::Open(path)->facts().shape, 69, sequence});
  auto writer = *io::SealedWriter::Create(path, kSavedStateKind, facts, 64);
  ASSERT_TRUE(writer.Append(std::vector<std::byte>(64)));
  ASSERT_TRUE(writer.Seal());
  ExpectRefused(owner, *store, {"64", "69"});
}

TEST(SavedState, WithAnIdThatTheModelLacksIsRefused) {
  const auto engine = OpenForSaving(8);
  text::TokenId id = 5;
  const auto step = engine->Step(engine->EmptyState(), std::span(&id, 1));
  ASSERT_TRUE(engine->Save(SavedPath(), step->after[0], SequenceOf({5, 2048})));
  const auto restored = RestoreFrom(*engine, SavedPath());
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code, ErrorCode::kRefused);
  std::filesystem::remove(SavedPath());
}

}  // namespace
}  // namespace penstock::k3
