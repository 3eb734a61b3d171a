#include "io/sealed/sealed_file.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace penstock::io {
namespace {

constexpr SealedKind kSealKind = {'s', 'e', 'a', 'l', 't', 'e', 's', 't'};

std::string SealedPath() {
  return ::testing::TempDir() + "sealed-" +
         ::testing::UnitTest::GetInstance()->current_test_info()->name();
}

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
  return writer.Seal();
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

TEST(SealedFile, ComesBackWhateverItsSizeAndItsPieces) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (const size_t bytes : {size_t{0}, size_t{1}, kSealedChunk - 1, kSealedChunk, kSealedChunk + 1,
                             3 * kSealedChunk, size_t{random() % (4 * kSealedChunk)}}) {
    const auto payload = RandomPayload(bytes, seed);
    const std::string facts = bytes % 2 == 0 ? "" : std::string(random() % 5000, 'f');
    const size_t piece = 1 + random() % (2 * kSealedChunk);
    ASSERT_TRUE(WriteSealed(SealedPath(), facts, payload, std::max<size_t>(piece, 1000)));
    EXPECT_FALSE(std::filesystem::exists(SealedPath() + ".partial"));
    auto reader = SealedReader::Open(SealedPath(), kSealKind);
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

TEST(SealedFile, EveryBitThatFlipsIsRefused) {
  const auto payload = RandomPayload(20, 3);
  ASSERT_TRUE(WriteSealed(SealedPath(), "facts", payload, 20));
  const std::string whole = FileText(SealedPath());
  EXPECT_EQ(whole.size(), 32u + 5 + 20 + 8 + 8);
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    PutText(SealedPath(), changed);
    const auto read = ReadSealed(SealedPath());
    ASSERT_FALSE(read) << "bit " << bit;
    EXPECT_EQ(ExitCode(read.error()), 2);
  }
}

TEST(SealedFile, EveryOtherLengthIsRefused) {
  ASSERT_TRUE(WriteSealed(SealedPath(), "facts", RandomPayload(20, 4), 7));
  const std::string whole = FileText(SealedPath());
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    PutText(SealedPath(), whole.substr(0, bytes));
    EXPECT_FALSE(ReadSealed(SealedPath())) << bytes;
  }
  PutText(SealedPath(), whole + '\0');
  EXPECT_FALSE(ReadSealed(SealedPath()));
  PutText(SealedPath(), whole);
  EXPECT_TRUE(ReadSealed(SealedPath()));
}

TEST(SealedFile, AnotherKindIsRefused) {
  ASSERT_TRUE(WriteSealed(SealedPath(), "facts", RandomPayload(10, 5), 10));
  EXPECT_FALSE(SealedReader::Open(SealedPath(), {'o', 't', 'h', 'e', 'r'}));
  EXPECT_FALSE(SealedReader::Open(SealedPath() + "-none", kSealKind));
  EXPECT_FALSE(SealedReader::Open(::testing::TempDir(), kSealKind));
}

TEST(SealedFile, WithoutASealWhatHadTheNameStays) {
  const auto payload = RandomPayload(5000, 6);
  ASSERT_TRUE(WriteSealed(SealedPath(), "old", payload, 5000));
  {
    auto writer = SealedWriter::Create(SealedPath(), kSealKind, "new", 10);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->Append(std::span(payload).first(10)));
    EXPECT_TRUE(std::filesystem::exists(SealedPath() + ".partial"));
  }
  EXPECT_FALSE(std::filesystem::exists(SealedPath() + ".partial"));
  EXPECT_EQ(*ReadSealed(SealedPath()), payload);
}

TEST(FaultSealedFile, AFullDiskLeavesTheOldOne) {
  const auto payload = RandomPayload(3 * kSealedChunk, 7);
  ASSERT_TRUE(WriteSealed(SealedPath(), "old", payload, kSealedChunk));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  for (const uint64_t room :
       {uint64_t{10}, uint64_t{40}, uint64_t{2 * kSealedChunk}, uint64_t{3 * kSealedChunk + 35}}) {
    const rlimit limit{room, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const Status written = WriteSealed(SealedPath(), "new", payload, kSealedChunk);
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_FALSE(written) << room;
    EXPECT_FALSE(std::filesystem::exists(SealedPath() + ".partial"));
    EXPECT_EQ(SealedReader::Open(SealedPath(), kSealKind)->facts(), "old");
  }
  std::signal(SIGXFSZ, handler);
}

}  // namespace
}  // namespace penstock::io
