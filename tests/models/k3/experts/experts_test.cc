#include "models/k3/experts/experts.h"

#include <cstring>
#include <fstream>
#include <optional>
#include <semaphore>

#include <gtest/gtest.h>

#include "runtime/memory/region.h"
#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

struct ExpertsFixture {
  ExpertsFixture(TinyModel& model, size_t slots, size_t ahead_slots = 0,
                 std::string_view policy = "lru")
      : slot_bytes(Experts::SlotBytes(
            *model.catalogue, model.shape(),
            [&](const io::Extent& extent) { return model.reader->BufferBytes(extent); },
            model.reader->Alignment())),
        memory(*HugeRegion::Map(slot_bytes * slots)),
        experts(*model.catalogue, model.shape(), *model.reader, memory.data(), slot_bytes, slots,
                ahead_slots, policy) {}

  Result<ExpertWeights> Get(size_t layer, size_t expert) {
    std::optional<Result<ExpertWeights>> got;
    std::binary_semaphore done{0};
    experts.Demand(layer, expert, [&](Result<ExpertWeights> weights) {
      got.emplace(std::move(weights));
      done.release();
    });
    done.acquire();
    return std::move(*got);
  }

  size_t slot_bytes;
  HugeRegion memory;
  Experts experts;
};

void ExpectStored(const TinyModel& tiny, const io::Extent& extent, const uint8_t* got) {
  std::ifstream file(tiny.catalogue->FileName(extent.file), std::ios::binary);
  std::vector<char> stored(extent.bytes);
  file.seekg(static_cast<std::streamoff>(extent.offset));
  file.read(stored.data(), static_cast<std::streamsize>(stored.size()));
  EXPECT_EQ(std::memcmp(got, stored.data(), stored.size()), 0);
}

TEST(Experts, EveryTensorIsTheStoredOne) {
  TinyModel tiny;
  ExpertsFixture fixture(tiny, 1);
  for (const size_t expert : {0, 2, 10, 31}) {  // Stored in lexicographic order: 0, 1, 10, 11, ...
    const auto weights = fixture.Get(5, expert);
    ASSERT_TRUE(weights.has_value()) << weights.error().message;
    const ExpertTensors tensors = tiny.catalogue->expert(5, expert);
    ExpectStored(tiny, tensors.w1_packed, weights->view.w1_packed);
    ExpectStored(tiny, tensors.w1_scale, weights->view.w1_scale);
    ExpectStored(tiny, tensors.w2_packed, weights->view.w2_packed);
    ExpectStored(tiny, tensors.w2_scale, weights->view.w2_scale);
    ExpectStored(tiny, tensors.w3_packed, weights->view.w3_packed);
    ExpectStored(tiny, tensors.w3_scale, weights->view.w3_scale);
  }
  EXPECT_EQ(fixture.experts.misses(), 4u);
  // Adjacent in the file: one read for each expert, all six tensors.
  EXPECT_EQ(fixture.experts.traffic().reads, 4u);
  const uint64_t one = 3 * 64 * 96 / 2 + 3 * 64 * 96 / 32;
  EXPECT_EQ(fixture.experts.traffic().payload, 4 * one);
}

TEST(Experts, TheCacheAnswersAndForgetsTheLeastRecentlyUsed) {
  TinyModel tiny;
  ExpertsFixture fixture(tiny, 2);
  ASSERT_TRUE(fixture.Get(1, 3).has_value());
  ASSERT_TRUE(fixture.Get(2, 3).has_value());  // The same number in another layer is another one.
  ASSERT_TRUE(fixture.Get(1, 3).has_value());
  EXPECT_EQ(fixture.experts.hits(), 1u);
  ASSERT_TRUE(fixture.Get(1, 4).has_value());  // Takes the place of (2, 3).
  ASSERT_TRUE(fixture.Get(1, 3).has_value());
  EXPECT_EQ(fixture.experts.hits(), 2u);
  ASSERT_TRUE(fixture.Get(2, 3).has_value());
  EXPECT_EQ(fixture.experts.misses(), 4u);
}

TEST(FaultExperts, OneThatCannotBeReadIsAnErrorAndItsSlotIsFreeAgain) {
  TinyModel tiny(16 << 10, "eio@1");
  ExpertsFixture fixture(tiny, 1);
  int releases = 0;
  fixture.experts.OnRelease([&] { ++releases; });
  const auto failed = fixture.Get(1, 0);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, ErrorCode::kFailed);
  const auto weights = fixture.Get(1, 0);
  ASSERT_TRUE(weights.has_value());
  ExpectStored(tiny, tiny.catalogue->expert(1, 0).w1_packed, weights->view.w1_packed);
  EXPECT_EQ(fixture.experts.hits(), 0u) << "what was not read is never found";
}

}  // namespace
}  // namespace penstock::k3
