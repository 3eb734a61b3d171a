#include "io/sealed/sealed_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/io/pack/small_pack.h"

namespace penstock::io {
namespace {

constexpr SealedKind kSealKind = {'s', 'e', 'a', 'l', 't', 'e', 's', 't'};

struct SealedFile : testing::Test {
  const FastDirectory directory;
  const std::string path = directory.File("f");
  const std::string partial = path + ".partial";
};
struct FaultSealedFile : SealedFile {};

std::vector<std::byte> RandomPayload(size_t bytes, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> payload(bytes);
  for (std::byte& byte : payload) byte = static_cast<std::byte>(random());
  return payload;
}

Status WriteSealed(const std::string& path, const std::string& facts,
                   const std::vector<std::byte>& payload, size_t piece) {
  PENSTOCK_TRY(SealedWriter writer, SealedWriter::Create(path, kSealKind, facts, payload.size()));
  for (size_t at = 0; at < payload.size(); at += piece) {
    PENSTOCK_TRY_VOID(
        writer.Append(std::span(payload).subspan(at, std::min(piece, payload.size() - at))));
  }
  PENSTOCK_TRY(const uint64_t bytes, writer.Seal());
  EXPECT_EQ(bytes, std::filesystem::file_size(path));
  return {};
}

Result<std::vector<std::byte>> ReadSealed(const std::string& path) {
  PENSTOCK_TRY(SealedReader reader, SealedReader::Open(path, kSealKind));
  std::vector<std::byte> payload(reader.payload_bytes());
  PENSTOCK_TRY_VOID(reader.Read(payload));
  return payload;
}

std::string FileText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void PutText(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST_F(SealedFile, ComesBackWhateverItsSizeAndItsPieces) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (const size_t bytes : {size_t{0}, size_t{1}, kSealedChunk - 1, kSealedChunk, kSealedChunk + 1,
                             3 * kSealedChunk, size_t{random() % (4 * kSealedChunk)}}) {
    const auto payload = RandomPayload(bytes, seed);
    const std::string facts = bytes % 2 == 0 ? "" : std::string(random() % 5000, 'f');
    const size_t piece = 1 + random() % (2 * kSealedChunk);
    ASSERT_TRUE(WriteSealed(path, facts, payload, std::max<size_t>(piece, 1000)));
    EXPECT_FALSE(std::filesystem::exists(partial));
    auto reader = SealedReader::Open(path, kSealKind);
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_EQ(reader->facts(), facts);
    ASSERT_EQ(reader->payload_bytes(), bytes);
    std::vector<std::byte> read(bytes);
    for (size_t at = 0; at < bytes; at += 700'001) {
      ASSERT_TRUE(reader->Read(std::span(read).subspan(at, std::min<size_t>(700'001, bytes - at))));
    }
    EXPECT_EQ(read, payload) << bytes;
  }
}

TEST_F(SealedFile, EveryBitThatFlipsIsRefused) {
  const auto payload = RandomPayload(20, 3);
  ASSERT_TRUE(WriteSealed(path, "facts", payload, 20));
  const std::string whole = FileText(path);
  EXPECT_EQ(whole.size(), 32u + 5 + 20 + 8 + 8);
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    PutText(path, changed);
    const auto read = ReadSealed(path);
    ASSERT_FALSE(read) << "bit " << bit;
    EXPECT_EQ(ExitCode(read.error()), 2);
  }
}

TEST_F(SealedFile, EveryOtherLengthIsRefused) {
  ASSERT_TRUE(WriteSealed(path, "facts", RandomPayload(20, 4), 7));
  const std::string whole = FileText(path);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    PutText(path, whole.substr(0, bytes));
    EXPECT_FALSE(ReadSealed(path)) << bytes;
  }
  PutText(path, whole + '\0');
  EXPECT_FALSE(ReadSealed(path));
  PutText(path, whole);
  EXPECT_TRUE(ReadSealed(path));
}

// Chunks are told apart by their place, and each has a sum that counts.
TEST_F(SealedFile, ChunksThatChangeOrMoveAreRefused) {
  ASSERT_TRUE(WriteSealed(path, "facts", RandomPayload(3 * kSealedChunk, 8), kSealedChunk));
  const std::string whole = FileText(path);
  const size_t payload = 32 + 5, sums = payload + 3 * kSealedChunk;
  ASSERT_EQ(whole.size(), sums + 3 * 8 + 8);
  const auto expect_refused = [&](const std::string& changed, const char* what) {
    PutText(path, changed);
    const auto read = ReadSealed(path);
    ASSERT_FALSE(read) << what;
    EXPECT_EQ(read.error().code, ErrorCode::kRefused) << what;
  };
  const auto swapped = [&](size_t at, size_t bytes) {
    std::string text = whole;
    const auto first = text.begin() + static_cast<ptrdiff_t>(at);
    const auto second = first + static_cast<ptrdiff_t>(bytes);
    std::swap_ranges(first, second, second);
    return text;
  };
  const std::string moved = swapped(payload + kSealedChunk, kSealedChunk);
  expect_refused(moved, "two chunks in each other's place");
  std::string both = swapped(sums + 8, 8);
  both.replace(payload, 3 * kSealedChunk, moved, payload, 3 * kSealedChunk);
  expect_refused(both, "with their sums");
  for (const size_t at : {payload + kSealedChunk, payload + 2 * kSealedChunk - 1, sums + 8}) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      expect_refused(changed, "a bit of the second chunk or of its sum");
    }
  }
  // What was before the second chunk is good.
  std::string changed = whole;
  changed[payload + kSealedChunk + 9] ^= 1;
  PutText(path, changed);
  auto reader = SealedReader::Open(path, kSealKind);
  ASSERT_TRUE(reader) << reader.error().message;
  std::vector<std::byte> chunk(kSealedChunk);
  EXPECT_TRUE(reader->Read(chunk));
  EXPECT_FALSE(reader->Read(std::span(chunk).first(1)));
  PutText(path, whole);
  EXPECT_TRUE(ReadSealed(path));
}

TEST_F(SealedFile, AnotherKindIsRefused) {
  ASSERT_TRUE(WriteSealed(path, "facts", RandomPayload(10, 5), 10));
  EXPECT_FALSE(SealedReader::Open(path, {'o', 't', 'h', 'e', 'r'}));
  EXPECT_FALSE(SealedReader::Open(path + "-none", kSealKind));
  EXPECT_FALSE(SealedReader::Open(directory.path(), kSealKind));
}

TEST_F(SealedFile, WithoutASealWhatHadTheNameStays) {
  const auto payload = RandomPayload(5000, 6);
  ASSERT_TRUE(WriteSealed(path, "old", payload, 5000));
  {
    auto writer = SealedWriter::Create(path, kSealKind, "new", 10);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->Append(std::span(payload).first(10)));
    EXPECT_TRUE(std::filesystem::exists(partial));
  }
  EXPECT_FALSE(std::filesystem::exists(partial));
  EXPECT_EQ(*ReadSealed(path), payload);
}

TEST_F(SealedFile, OfTwoWritersTheSecondIsToldAndTheFirstSealsWhole) {
  const auto payload = RandomPayload(kSealedChunk + 100, 9);
  auto first = SealedWriter::Create(path, kSealKind, "first", payload.size());
  ASSERT_TRUE(first);
  ASSERT_TRUE(first->Append(std::span(payload).first(kSealedChunk)));
  for (int again = 0; again < 2; ++again) {
    const auto second = SealedWriter::Create(path, kSealKind, "second", 1);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kFailed);
    EXPECT_EQ(second.error().sys, EWOULDBLOCK);
    EXPECT_EQ(second.error().message.rfind(path + ": ", 0), 0u) << second.error().message;
    EXPECT_NE(second.error().message.find("another run"), std::string::npos);
  }
  ASSERT_TRUE(first->Append(std::span(payload).subspan(kSealedChunk)));
  ASSERT_TRUE(first->Seal());
  EXPECT_EQ(*ReadSealed(path), payload);
  // A writer that has sealed keeps nobody out, even while it is there.
  ASSERT_TRUE(WriteSealed(path, "second", RandomPayload(10, 1), 10));
  EXPECT_EQ(SealedReader::Open(path, kSealKind)->facts(), "second");
}

TEST_F(SealedFile, WhatAKilledWriterHasLeftIsWrittenOver) {
  PutText(partial, std::string(5000, 'x'));
  const auto payload = RandomPayload(100, 10);
  ASSERT_TRUE(WriteSealed(path, "facts", payload, 100));
  EXPECT_EQ(*ReadSealed(path), payload);
  EXPECT_FALSE(std::filesystem::exists(partial));
}

// Every file that has the name is whole at any time, and nobody is told of anything but the others.
TEST_F(FaultSealedFile, WritersThatRaceForANameLeaveWholeFiles) {
  const auto payload = RandomPayload(3000, 11);
  ASSERT_TRUE(WriteSealed(path, "begin", payload, 3000));
  std::atomic<int> sealed{0}, refused{0}, running{3};
  const auto write = [&](int writer) {
    for (int turn = 0; turn < 400; ++turn) {
      auto created = SealedWriter::Create(path, kSealKind, std::to_string(writer), payload.size());
      if (!created) {
        EXPECT_EQ(created.error().sys, EWOULDBLOCK) << created.error().message;
        ++refused;
        continue;
      }
      EXPECT_TRUE(created->Append(payload));
      if (turn % 5 == 0) continue;  // It gives up.
      const auto done = created->Seal();
      EXPECT_TRUE(done) << done.error().message;
      ++sealed;
    }
    --running;
  };
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 3; ++writer) writers.emplace_back(write, writer);
  int bad = 0;
  while (running > 0) {
    const auto read = ReadSealed(path);
    if (!read || *read != payload) ++bad;
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(bad, 0);
  EXPECT_GT(sealed, 0);
  EXPECT_EQ(*ReadSealed(path), payload);
  EXPECT_FALSE(std::filesystem::exists(partial));
}

TEST_F(FaultSealedFile, AFullDiskLeavesTheOldOne) {
  const auto payload = RandomPayload(3 * kSealedChunk, 7);
  ASSERT_TRUE(WriteSealed(path, "old", payload, kSealedChunk));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  for (const uint64_t room :
       {uint64_t{10}, uint64_t{40}, uint64_t{2 * kSealedChunk}, uint64_t{3 * kSealedChunk + 35}}) {
    const rlimit limit{room, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const Status written = WriteSealed(path, "new", payload, kSealedChunk);
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_FALSE(written) << room;
    EXPECT_FALSE(std::filesystem::exists(partial));
    EXPECT_EQ(SealedReader::Open(path, kSealKind)->facts(), "old");
  }
  std::signal(SIGXFSZ, handler);
}

}  // namespace
}  // namespace penstock::io
