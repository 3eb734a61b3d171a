#include "models/k3/commands/checkpoint/inspect.h"

#include "io/checkpoint.h"
#include "io/options.h"
#include "models/k3/census/census.h"
#include "models/k3/census/entropy/coded.h"
#include "models/k3/census/tensor_list.h"
#include "models/k3/commands/checkpoint/entropy.h"
#include "models/k3/config/options.h"
#include "models/k3/engine.h"
#include "runtime/options/command_line.h"

namespace penstock::k3 {
namespace {

const CommandLine kInspect{
    .name = "penstock inspect",
    .summary =
        "Shows what a directory of safetensors files holds, from its headers alone; with "
        "--entropy, how many bits its weights are worth.",
    .positional = "model",
    .examples = {"penstock inspect models/k3/tiny",
                 "penstock inspect DIR --tensors | sort -t \"$(printf '\\t')\" -k6n",
                 "penstock inspect DIR --graph | dot -Tsvg > graph.svg",
                 "penstock inspect DIR --entropy --html entropy.html"}};

struct InspectOptions {
  std::string model;
  bool json = false;
  bool tensors = false;
  bool graph = false;
  bool entropy = false;
  bool full = false;
  std::string html;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("model,m", c.model, "Directory of the checkpoint, a K3 checkpoint or another.");
    v("json", c.json, "The census as JSON.");
    v("tensors", c.tensors, "A line for each tensor: name, dtype, shape, file, offset, bytes.");
    v("graph", c.graph, "The graph of a step as DOT, from the objects that would run it.");
    v("entropy", c.entropy,
      "Entropy of exponents, mantissas, codes and scales, what the codecs reach and what theory "
      "allows, by layer, or with --tensors by tensor. Reads a sample of the weights.");
    v("full", c.full, "With --entropy: reads and counts every weight.");
    v("html", c.html, "With --entropy: also writes a page with charts there, a file that is new.");
  }
};

struct InspectSettings {
  InspectOptions inspect;
  PipelineOptions pipeline;
  io::IoOptions io;

  OptionSet Rows() {
    OptionSet rows;
    rows.Add("inspect", inspect);
    rows.Add("pipeline", pipeline);
    rows.Add("io", io);
    return rows;
  }
};

Result<std::string> Graph(const InspectSettings& settings, const Notice& notice) {
  PENSTOCK_TRY(const std::unique_ptr<Engine> engine,
               Engine::Open(settings.inspect.model, 1, settings.pipeline, settings.io, notice));
  return engine->GraphDot(false);
}

Result<std::string> Tensors(const std::string& directory, const Notice& notice) {
  PENSTOCK_TRY(const std::unique_ptr<io::Checkpoint> checkpoint,
               io::Checkpoint::Open(directory, notice));
  return TensorList(*checkpoint);
}

Result<std::string> Describe(const InspectSettings& settings, const Notice& notice) {
  const InspectOptions& options = settings.inspect;
  if (options.json + options.tensors + options.graph > 1) {
    return Refused("expected one of --json, --tensors and --graph, got several");
  }
  if (options.graph) return Graph(settings, notice);
  if (options.tensors) return Tensors(options.model, notice);
  PENSTOCK_TRY(const Census census, TakeCensus(options.model, notice));
  if (!options.json) return CensusTable(census);
  return CensusJson(census).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status Check(const InspectOptions& options) {
  if (options.model.empty()) return Refused("expected a checkpoint's directory");
  if (!options.entropy && (options.full || !options.html.empty())) {
    return Refused("--full and --html belong to --entropy, which was not given");
  }
  if (options.entropy && options.graph) {
    return Refused("expected one of --entropy and --graph, got both");
  }
  return {};
}

int Entropy(Console& console, const InspectSettings& settings) {
  const InspectOptions& options = settings.inspect;
  EntropyRequest request;
  request.sample.full = options.full;
  request.tensors = options.tensors;
  request.coded = CodedBytes;
  return RunEntropy(console, options.model, std::move(request), {options.json, options.html},
                    settings.io);
}

}  // namespace

int RunInspect(Console& console, std::span<const std::string> arguments) {
  InspectSettings settings;
  OptionSet rows = settings.Rows();
  const auto parsed = ParseCommandLine(kInspect, arguments, rows);
  if (!parsed) return console.Fail(parsed.error());
  if (*parsed != Parsed::kHelp) {
    if (const Status checked = Check(settings.inspect); !checked) {
      return console.Fail(checked.error());
    }
    if (settings.inspect.entropy) return Entropy(console, settings);
  }
  const Result<std::string> text =
      *parsed == Parsed::kHelp ? FormatHelp(kInspect, rows) : Describe(settings, console.notice());
  if (!text) return console.Fail(text.error());
  return console.Answer(*text);
}

}  // namespace penstock::k3
