#include "models/k3/commands/bench/bench.h"

#include <array>
#include <vector>

#include <fmt/format.h>

#include "models/k3/commands/bench/codec.h"
#include "models/k3/commands/bench/io.h"
#include "models/k3/commands/bench/kernels.h"
#include "models/k3/commands/bench/positions.h"
#include "models/k3/commands/bench/token.h"
#include "runtime/options/nearest.h"

namespace penstock::k3 {
namespace {

struct Benchmark {
  const char* name;
  const char* summary;
  int (*run)(Console&, std::span<const std::string>);
};

constexpr std::array<Benchmark, 5> kBenchmarks = {{
    {"token", "whole steps beside the device alone and the arithmetic alone", RunBenchToken},
    {"positions", "drafts and chunks of a prompt beside steps of one position", RunBenchPositions},
    {"io", "reading of files beside fio, and the wait of a demanded read", RunBenchIo},
    {"kernels", "products with weights and states on one core, beside memory", RunBenchKernels},
    {"codec", "decoding of weights on one core, beside memcpy and zstd", RunBenchCodec},
}};

std::string List() {
  std::string out =
      "penstock bench measures a part of the program on this machine.\n\nusage: penstock bench "
      "WHAT [options]\n\n";
  for (const Benchmark& benchmark : kBenchmarks) {
    out += fmt::format("  {:<10}{}\n", benchmark.name, benchmark.summary);
  }
  return out + "\n  WHAT --help   its options\n";
}

Error UnknownName(const std::string& name) {
  std::vector<std::string> names = {"--help"};
  for (const Benchmark& benchmark : kBenchmarks) names.emplace_back(benchmark.name);
  const std::string nearest = Nearest(name, names);
  return Refused(fmt::format("there is no benchmark \"{}\"{}", name,
                             nearest.empty() ? "" : ", the nearest is " + nearest));
}

}  // namespace

int RunBench(Console& console, std::span<const std::string> arguments) {
  if (arguments.empty() || arguments.front() == "--help" || arguments.front() == "-h") {
    return console.Answer(List());
  }
  for (const Benchmark& benchmark : kBenchmarks) {
    if (arguments.front() == benchmark.name) return benchmark.run(console, arguments.subspan(1));
  }
  return console.Fail(UnknownName(arguments.front()));
}

}  // namespace penstock::k3
