#include "io/pack/write/writer.h"

#include <algorithm>
#include <cerrno>
#include <csignal>

#include <sys/resource.h>

#include "tests/io/pack/small_pack.h"

namespace penstock::io {
namespace {

constexpr const char* kPartialData = "p/stripes.bin.partial";
constexpr const char* kPartialJournal = "p/pack.jsonl.partial";

PackWriterOptions SyncEach() {
  PackWriterOptions options;
  options.sync_bytes = 0;
  return options;
}

struct PackFiles {
  std::string manifest;
  std::string stripes;
  friend bool operator==(const PackFiles&, const PackFiles&) = default;
};

// The files of a complete pack in "p", and nothing besides.
PackFiles FilesOf(const FastDirectory& scratch) {
  size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.File("p"))) {
    entries += entry.exists();
  }
  EXPECT_EQ(entries, 2u);
  return {scratch.Read("p/pack.json"), scratch.Read("p/stripes.bin")};
}

PackFiles WriteAtOnce(const SmallPack& pack) {
  const FastDirectory scratch;
  const Status written = WritePack(pack, scratch.File("p"));
  EXPECT_TRUE(written) << written.error().message;
  return FilesOf(scratch);
}

// What a writer leaves that was stopped behind its last stripe.
struct PartialFiles {
  std::string stripes;
  std::string journal;
};

PartialFiles Stopped(const SmallPack& pack, size_t stripes) {
  const FastDirectory scratch;
  {
    const auto writer = OpenWriter(pack, scratch.File("p"), SyncEach());
    EXPECT_TRUE(writer);
    EXPECT_TRUE(AppendUpTo(pack, stripes, **writer));
  }
  EXPECT_FALSE(scratch.Has("p/pack.json"));
  return {scratch.Read(kPartialData), scratch.Read(kPartialJournal)};
}

PackFiles ResumedFrom(const SmallPack& pack, const PartialFiles& files) {
  const FastDirectory scratch;
  std::filesystem::create_directory(scratch.File("p"));
  scratch.Write(kPartialData, files.stripes);
  scratch.Write(kPartialJournal, files.journal);
  const Status written = WritePack(pack, scratch.File("p"));
  EXPECT_TRUE(written) << written.error().message;
  return FilesOf(scratch);
}

TEST(PackWriter, GoesOnWhereItStopped) {
  const SmallPack pack = MakeSmallPack(11, 6, 500);
  const PackFiles expected = WriteAtOnce(pack);
  const FastDirectory scratch;
  for (size_t stripes = 0; stripes <= pack.plan.size(); ++stripes) {
    uint64_t checked = 0;
    PackWriterOptions options;
    options.on_check = [&](uint64_t done, uint64_t of) {
      EXPECT_GT(done, checked);
      EXPECT_LE(done, of);
      checked = done;
      return true;
    };
    const auto writer = OpenWriter(pack, scratch.File("p"), options);
    ASSERT_TRUE(writer) << writer.error().message;
    const size_t before = stripes == 0 ? 0 : stripes - 1;
    EXPECT_EQ((*writer)->next(), before);
    EXPECT_EQ((*writer)->planned(), pack.plan.size());
    EXPECT_EQ(checked, (*writer)->bytes());
    ASSERT_TRUE(AppendUpTo(pack, stripes, **writer));
  }
  ASSERT_TRUE(WritePack(pack, scratch.File("p")));
  EXPECT_EQ(FilesOf(scratch), expected);
  ExpectRefused(OpenWriter(pack, scratch.File("p")), {"already complete"});
}

TEST(PackWriter, ChecksNoFurtherThanItIsAskedTo) {
  const SmallPack pack = MakeSmallPack(11, 6, 500);
  const FastDirectory scratch;
  {
    const auto writer = OpenWriter(pack, scratch.File("p"));
    ASSERT_TRUE(writer);
    ASSERT_TRUE(AppendUpTo(pack, 4, **writer));
    ASSERT_TRUE((*writer)->Flush());
  }
  int checked = 0;
  PackWriterOptions options;
  options.on_check = [&](uint64_t, uint64_t) { return ++checked < 2; };
  EXPECT_EQ(OpenWriter(pack, scratch.File("p"), options).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(checked, 2);
  EXPECT_EQ((*OpenWriter(pack, scratch.File("p")))->next(), 4u) << "and all of it is still there";
}

TEST(PackWriter, GoesOnFromAJournalCutAnywhere) {
  const SmallPack pack = MakeSmallPack(12, 3, 40);
  const PackFiles expected = WriteAtOnce(pack);
  const PartialFiles whole = Stopped(pack, pack.plan.size());
  for (size_t bytes = 0; bytes <= whole.journal.size(); ++bytes) {
    SCOPED_TRACE(bytes);
    ASSERT_EQ(ResumedFrom(pack, {whole.stripes, whole.journal.substr(0, bytes)}), expected);
  }
}

TEST(PackWriter, GoesOnFromStripesCutAnywhere) {
  const SmallPack pack = MakeSmallPack(13, 3, 40);
  const PackFiles expected = WriteAtOnce(pack);
  const PartialFiles whole = Stopped(pack, pack.plan.size());
  for (size_t bytes = 0; bytes <= whole.stripes.size();) {
    SCOPED_TRACE(bytes);
    ASSERT_EQ(ResumedFrom(pack, {whole.stripes.substr(0, bytes), whole.journal}), expected);
    // In the zeros between two stripes one place is like another.
    const size_t stripe = std::min(bytes / 4096, pack.stored.size() - 1);
    bytes += bytes % 4096 > pack.stored[stripe].size() && bytes % 4096 < 4000 ? 97 : 1;
  }
}

TEST(PackWriter, GoesOnFromAnyMixture) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const SmallPack pack = MakeSmallPack(seed, 4, 300);
  const PackFiles expected = WriteAtOnce(pack);
  const PartialFiles whole = Stopped(pack, pack.plan.size());
  for (int round = 0; round < 200; ++round) {
    PartialFiles files = whole;
    files.stripes.resize(random() % (whole.stripes.size() + 5000), '\x55');
    files.journal.resize(random() % (whole.journal.size() + 100), '\0');
    if (!files.stripes.empty() && round % 2 == 0) {
      files.stripes[random() % files.stripes.size()] ^= static_cast<char>(1 + random() % 255);
    }
    ASSERT_EQ(ResumedFrom(pack, files), expected);
  }
}

// What is journalled and damaged is found, told, and packed again with all behind it.
TEST(PackWriter, DoesNotTrustWhatItWrote) {
  const SmallPack pack = MakeSmallPack(14, 4, 300);
  ASSERT_GE(pack.plan.size(), 3u);
  PartialFiles files = Stopped(pack, pack.plan.size());
  const FastDirectory scratch;
  std::filesystem::create_directory(scratch.File("p"));
  files.stripes[4096 + pack.stored[1].size()] ^= 1;  // In the zeros behind stripe 1.
  ASSERT_LT(pack.stored[0].size(), 4096u);
  scratch.Write(kPartialData, files.stripes);
  scratch.Write(kPartialJournal, files.journal);
  std::string told;
  PackWriterOptions options;
  options.notice = [&](std::string_view line) { told += line; };
  const auto writer = OpenWriter(pack, scratch.File("p"), options);
  ASSERT_TRUE(writer) << writer.error().message;
  EXPECT_EQ((*writer)->next(), 1u);
  EXPECT_NE(told.find("stripe 1 ("), std::string::npos) << told;
  EXPECT_EQ(scratch.Read(kPartialData).size(), 4096u);
  EXPECT_EQ(std::ranges::count(scratch.Read(kPartialJournal), '\n'), 2);
}

// The moments of Finish: between any two of its steps the machine may stop.
TEST(PackWriter, GoesOnFromTheMomentsOfFinishing) {
  const SmallPack pack = MakeSmallPack(15, 4, 300);
  const PackFiles expected = WriteAtOnce(pack);
  const PartialFiles whole = Stopped(pack, pack.plan.size());
  for (const bool renamed : {false, true}) {
    for (const std::string& manifest :
         {std::string("{\"sch"), expected.manifest, expected.manifest + "longer"}) {
      const FastDirectory scratch;
      std::filesystem::create_directory(scratch.File("p"));
      scratch.Write(renamed ? "p/stripes.bin" : kPartialData, whole.stripes);
      scratch.Write(kPartialJournal, whole.journal);
      scratch.Write("p/pack.json.partial", manifest);
      const Status written = WritePack(pack, scratch.File("p"));
      ASSERT_TRUE(written) << written.error().message;
      EXPECT_EQ(FilesOf(scratch), expected);
    }
  }
}

TEST(PackWriter, RefusesToGoOnWithAnotherPack) {
  SmallPack pack = MakeSmallPack(16, 3, 100);
  const FastDirectory scratch;
  {
    const auto writer = OpenWriter(pack, scratch.File("p"));
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->Append(pack.stripes[0]));
    ExpectRefused(OpenWriter(pack, scratch.File("p")), {scratch.File("p"), "another process"});
  }
  const std::string before = scratch.Read(kPartialData);
  EXPECT_EQ(before.size(), 4096u);
  const std::string id = pack.parameters.identity;
  pack.parameters.identity = std::string(32, 'f');
  ExpectRefused(OpenWriter(pack, scratch.File("p")), {id, pack.parameters.identity});
  EXPECT_EQ(scratch.Read(kPartialData), before);
  pack.parameters.identity = id;
  pack.plan[0].elements -= 1;
  ExpectRefused(OpenWriter(pack, scratch.File("p")), {"stripe"});  // Covers nothing.
  pack.plan[0].elements += 1;
  const auto again = OpenWriter(pack, scratch.File("p"));
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->next(), 1u);
}

TEST(PackWriter, RefusesWithoutRoomAndLeavesNothing) {
  const SmallPack pack = MakeSmallPack(16, 3, 100);
  const FastDirectory scratch;
  PackWriterOptions options;
  options.expected_bytes = uint64_t{1} << 60;
  ExpectRefused(OpenWriter(pack, scratch.File("p"), options), {scratch.File("p"), "room"});
  EXPECT_FALSE(scratch.Has("p"));
}

TEST(PackWriter, AStripeThatIsNotOfThePlanIsNotWritten) {
  const SmallPack pack = MakeSmallPack(17, 3, 100);
  const FastDirectory scratch;
  const auto writer = OpenWriter(pack, scratch.File("p"));
  ASSERT_TRUE(writer);
  EncodedStripe other = pack.stripes[0];
  other.stored_sum ^= 1;
  const Status status = (*writer)->Append(other);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnsound);
  EXPECT_EQ((*writer)->next(), 0u);
  EXPECT_FALSE((*writer)->Append(pack.stripes[1]));
  ASSERT_TRUE(AppendUpTo(pack, pack.plan.size(), **writer));
  ASSERT_TRUE((*writer)->Finish());
  EXPECT_EQ(FilesOf(scratch), WriteAtOnce(pack));
}

TEST(PackWriter, JournalsInGroups) {
  const SmallPack pack = MakeSmallPack(18, 8, 300);
  ASSERT_GE(pack.plan.size(), 5u);
  const FastDirectory scratch;
  PackWriterOptions options;
  options.sync_bytes = 8192;
  options.sync_interval = std::chrono::hours(1);
  const auto writer = OpenWriter(pack, scratch.File("p"), options);
  ASSERT_TRUE(writer);
  const auto lines = [&] { return std::ranges::count(scratch.Read(kPartialJournal), '\n') - 1; };
  for (size_t i = 0; i < 5; ++i) {
    ASSERT_EQ(pack.stored[i].size() <= 4096, true);
    ASSERT_TRUE((*writer)->Append(pack.stripes[i]));
    EXPECT_EQ(lines(), static_cast<long>((i + 1) / 2 * 2));
  }
  ASSERT_TRUE((*writer)->Flush());
  EXPECT_EQ(lines(), 5);
}

// A limit on the size of files stands for a full disk: writing gets as far as it goes, then fails.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_ = {};
  void (*handler_)(int);
};

TEST(FaultPackWriter, AFullDiskLeavesAPackToGoOnWith) {
  const SmallPack pack = MakeSmallPack(19, 6, 900);
  const PackFiles expected = WriteAtOnce(pack);
  const PartialFiles whole = Stopped(pack, pack.plan.size());
  std::vector<size_t> limits;
  for (size_t at = 0; at < whole.stripes.size(); at += 1000) limits.push_back(at);
  for (const size_t bytes : limits) {
    SCOPED_TRACE(bytes);
    const FastDirectory scratch;
    size_t kept = 0;
    {
      const SizeLimit limit(bytes);
      const auto writer = OpenWriter(pack, scratch.File("p"));
      const Status status =
          writer ? AppendUpTo(pack, pack.plan.size(), **writer) : Status(writer.error());
      const Status finished = writer && status ? (*writer)->Finish() : status;
      ASSERT_FALSE(finished);
      EXPECT_EQ(finished.error().code, ErrorCode::kFailed);
      EXPECT_EQ(finished.error().sys, EFBIG);
      if (writer) {
        kept = (*writer)->next();
        EXPECT_NE(finished.error().message.find(" of " + std::to_string(pack.plan.size())),
                  std::string::npos)
            << finished.error().message;
        EXPECT_FALSE((*writer)->Flush());
      }
    }
    EXPECT_FALSE(scratch.Has("p/pack.json"));
    const auto again = OpenWriter(pack, scratch.File("p"));
    ASSERT_TRUE(again) << again.error().message;
    // The journal is subject to the limit as well.
    if (bytes > whole.journal.size()) {
      EXPECT_EQ((*again)->next(), kept);
    }
    ASSERT_TRUE(AppendUpTo(pack, pack.plan.size(), **again));
    ASSERT_TRUE((*again)->Finish());
    EXPECT_EQ(FilesOf(scratch), expected);
  }
}

}  // namespace
}  // namespace penstock::io
