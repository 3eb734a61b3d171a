#include "models/k3/commands/pack/pack.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/k3/commands/watched.h"
#include "models/k3/pack/pack.h"
#include "runtime/options/command_line.h"

namespace penstock::k3 {
namespace {

const CommandLine kPack{
    .name = "penstock pack",
    .summary =
        "Stores the trunk of a checkpoint, or one safetensors file, losslessly in fewer "
        "bytes. What was stopped is gone on with by the same command.",
    .positional = "",
    .examples = {"penstock pack -m DIR -o DIR.pack", "penstock generate -m DIR --pack DIR.pack",
                 "penstock pack --tensor-file model.safetensors -o model.pack"}};

const CommandLine kUnpack{.name = "penstock unpack",
                          .summary = "Writes the file that a pack of --tensor-file was made from.",
                          .positional = "pack",
                          .examples = {"penstock unpack model.pack -o model.safetensors"}};

const CommandLine kVerify{
    .name = "penstock verify",
    .summary =
        "Checks every byte of a pack; exit code 4 and the first stripe that is not right "
        "otherwise.",
    .positional = "pack",
    .examples = {"penstock verify DIR.pack", "penstock verify DIR.pack --against DIR"}};

// Parses the options, prints the help, or does the work.
template <class Options>
int RunOn(Console& console, const CommandLine& line, std::span<const std::string> arguments,
          Status (*work)(Console&, const Options&, const PackWatch&)) {
  Options options;
  OptionSet rows;
  rows.Add("pack", options);
  const auto parsed = ParseCommandLine(line, arguments, rows);
  if (!parsed) return console.Fail(parsed.error());
  if (*parsed == Parsed::kHelp) return console.Answer(FormatHelp(line, rows));
  return RunWatched(console, [&](const PackWatch& watch) { return work(console, options, watch); });
}

double CompressionRatio(uint64_t part, uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<uint64_t>(whole, 1));
}

Status Pack(Console& console, const PackOptions& options, const PackWatch& watch) {
  PENSTOCK_TRY(const PackResult result, WritePack(options, watch));
  console.EndProgress();
  console.Say(fmt::format("{}: {} stripes ({}), {} in place of {}, ratio {:.4f}; {} on the disk",
                          options.out, result.stripes, result.codecs,
                          DescribeSize(result.stored_bytes), DescribeSize(result.raw_bytes),
                          CompressionRatio(result.stored_bytes, result.raw_bytes),
                          DescribeSize(result.file_bytes)));
  if (result.resumed_stripes != 0) {
    console.Say(fmt::format("{} of them were there already", result.resumed_stripes));
  }
  if (result.encode_seconds > 0) {
    console.Say(
        fmt::format("encoded at {:.2f} GB/s a core",
                    static_cast<double>(result.encoded_bytes) * 1e-9 / result.encode_seconds));
  }
  return {};
}

Status UnpackFile(Console& console, const UnpackOptions& options, const PackWatch& watch) {
  PENSTOCK_TRY(const UnpackResult result, Unpack(options, watch));
  console.EndProgress();
  console.Say(fmt::format("{}: {}", options.out, DescribeSize(result.bytes)));
  return {};
}

Status Verify(Console& console, const VerifyOptions& options, const PackWatch& watch) {
  PENSTOCK_TRY(const VerifyResult result, VerifyPack(options, watch));
  console.EndProgress();
  std::string text = fmt::format("{}: {} stripes, {} stored, {} decoded: every sum is right",
                                 options.pack, result.stripes, DescribeSize(result.stored_bytes),
                                 DescribeSize(result.raw_bytes));
  if (!options.against.empty()) {
    text +=
        fmt::format("; {} equal those of {}", DescribeSize(result.compared_bytes), options.against);
  }
  console.Say(text);
  return {};
}

}  // namespace

int RunPack(Console& console, std::span<const std::string> arguments) {
  return RunOn<PackOptions>(console, kPack, arguments, Pack);
}

int RunUnpack(Console& console, std::span<const std::string> arguments) {
  return RunOn<UnpackOptions>(console, kUnpack, arguments, UnpackFile);
}

int RunVerify(Console& console, std::span<const std::string> arguments) {
  return RunOn<VerifyOptions>(console, kVerify, arguments, Verify);
}

}  // namespace penstock::k3
