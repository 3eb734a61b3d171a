#include "models/k3/commands/pack/pack.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "models/k3/synth/synth.h"
#include "runtime/size.h"
#include "tests/models/k3/commands/penstock_process.h"
#include "tests/models/k3/pack/safetensors_file.h"

namespace penstock::k3 {
namespace {

TEST(PackCommand, PacksVerifiesAndGeneratesTheSame) {
  const TemporaryFolder folder;
  const std::string pack = folder.File("pack");
  const ProcessResult packed = RunPenstock({"pack", "-m", kTiny, "-o", pack});
  ASSERT_EQ(packed.exit_code, 0) << packed.err;
  EXPECT_TRUE(packed.out.empty());
  EXPECT_EQ(RunPenstock({"verify", pack, "--against", kTiny}).exit_code, 0);
  const std::vector<std::string> run = {"generate", "-m", kTiny, "--ids", "5,6,7", "-n", "6"};
  const ProcessResult plain = RunPenstock(run);
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  for (const char* decode : {"node", "fused", "auto"}) {
    std::vector<std::string> from_pack = run;
    from_pack.insert(from_pack.end(), {"--pack", pack, "--decode", decode});
    const ProcessResult result = RunPenstock(from_pack);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, plain.out);
  }
}

TEST(PackCommand, ExitCodesOfWhatIsWrong) {
  const TemporaryFolder folder;
  const std::string pack = folder.File("pack");
  EXPECT_EQ(RunPenstock({"pack", "-o", pack}).exit_code, 2) << "no source";
  EXPECT_EQ(RunPenstock({"pack", "-m", kTiny}).exit_code, 2) << "no place";
  EXPECT_EQ(RunPenstock({"pack", "-m", kTiny, "-o", pack, "--codec", "zip"}).exit_code, 2);
  EXPECT_EQ(RunPenstock({"verify", pack}).exit_code, 2) << "nothing there";
  ASSERT_EQ(RunPenstock({"pack", "-m", kTiny, "-o", pack}).exit_code, 0);
  EXPECT_EQ(RunPenstock({"pack", "-m", kTiny, "-o", pack}).exit_code, 2) << "complete";
  EXPECT_EQ(RunPenstock({"unpack", pack, "-o", folder.File("x")}).exit_code, 2) << "a trunk";
  std::string bytes = ReadBytes(pack + "/stripes.bin");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  std::ofstream(pack + "/stripes.bin", std::ios::binary) << bytes;
  EXPECT_EQ(RunPenstock({"verify", pack}).exit_code, 4);
  EXPECT_EQ(
      RunPenstock({"generate", "-m", kTiny, "--pack", pack, "--ids", "1", "-n", "2"}).exit_code, 1)
      << "found while it runs";
}

// A trunk that takes a while to pack.
class DiskPack : public testing::Test {
 protected:
  void SetUp() override {
    SynthOptions options;
    options.out = folder_.File("checkpoint");
    options.layers = 5;
    options.hidden = 1024;
    options.vocab = 16384;
    options.kda_heads = 8;
    options.kda_width = 128;
    options.dense_width = 4096;
    options.experts = 4;
    options.top_k = 2;
    const auto made = Synthesize(options, {});
    ASSERT_TRUE(made.has_value()) << made.error().message;
    const auto start = std::chrono::steady_clock::now();
    ASSERT_EQ(RunPenstock(Pack("whole")).exit_code, 0);
    took_ = std::chrono::steady_clock::now() - start;
  }
  std::vector<std::string> Pack(const std::string& out) const {
    return {"pack",
            "-m",
            folder_.File("checkpoint"),
            "-o",
            folder_.File(out),
            "--codec",
            "chain",
            "--stripe",
            "1M",
            "-t",
            "1"};
  }
  bool EqualsWhole(const std::string& out) const {
    return ReadBytes(folder_.File(out) + "/pack.json") ==
               ReadBytes(folder_.File("whole") + "/pack.json") &&
           ReadBytes(folder_.File(out) + "/stripes.bin") ==
               ReadBytes(folder_.File("whole") + "/stripes.bin");
  }

  TemporaryFolder folder_;
  std::chrono::steady_clock::duration took_{};
};

TEST_F(DiskPack, KilledAtAnyPointItGoesOnAndEndsTheSame) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  int killed = 0;
  for (int run = 0; run < 10; ++run) {
    const std::string out = "killed" + std::to_string(run % 3);  // Some more than once.
    {
      const PenstockProcess process(Pack(out));
      std::this_thread::sleep_for(took_ * (random() % 1000) / 1000);
      process.Signal(SIGKILL);
    }
    const bool whole = std::filesystem::exists(folder_.File(out) + "/pack.json");
    killed += whole ? 0 : 1;
    if (run < 6 && !whole) continue;  // Killed again before it goes on.
    if (!whole) {
      const ProcessResult result = RunPenstock(Pack(out));
      ASSERT_EQ(result.exit_code, 0) << result.err;
    }
    EXPECT_TRUE(EqualsWhole(out)) << run;
    std::filesystem::remove_all(folder_.File(out));
  }
  EXPECT_GE(killed, 4);
}

TEST_F(DiskPack, ASignalStopsItInGoodOrder) {
  PenstockProcess process(Pack("stopped"));
  std::this_thread::sleep_for(took_ / 3);
  process.Signal(SIGINT);
  const ProcessResult result = process.Wait();
  if (result.exit_code == 0) GTEST_SKIP() << "it was faster than the signal";
  EXPECT_EQ(result.exit_code, 130) << result.err;
  ASSERT_EQ(RunPenstock(Pack("stopped")).exit_code, 0);
  EXPECT_TRUE(EqualsWhole("stopped"));
}

TEST_F(DiskPack, AFullDiskIsAnErrorAndTheRestGoesOnLater) {
  const std::string script = "ulimit -f 20000; trap '' XFSZ; exec ";  // 20000 KiB and no more.
  std::string command;
  for (const std::string& word : Pack("full")) command += " '" + word + "'";
  const int status = std::system(
      ("bash -c \"" + script + std::string(PENSTOCK_BINARY) + command + "\" 2>/dev/null").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_FALSE(std::filesystem::exists(folder_.File("full") + "/stripes.bin"));
  ASSERT_EQ(RunPenstock(Pack("full")).exit_code, 0);
  EXPECT_TRUE(EqualsWhole("full"));
}

TEST(UnpackCommand, GivesTheFileBack) {
  const TemporaryFolder folder;
  const std::string file = folder.File("a.safetensors");
  const std::string bytes = WriteMixedFile(file, 4, 50000);
  ASSERT_EQ(RunPenstock({"pack", "--tensor-file", file, "-o", folder.File("a.pack")}).exit_code, 0);
  ASSERT_EQ(RunPenstock({"unpack", folder.File("a.pack"), "-o", folder.File("b")}).exit_code, 0);
  EXPECT_TRUE(ReadBytes(folder.File("b")) == bytes);
  EXPECT_EQ(RunPenstock({"verify", folder.File("a.pack"), "--against", file}).exit_code, 0);
  EXPECT_EQ(RunPenstock({"unpack", folder.File("a.pack"), "-o", folder.File("b")}).exit_code, 2);
}

}  // namespace
}  // namespace penstock::k3
