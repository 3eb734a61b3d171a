#include "models/k3/commands/checkpoint/synth.h"

#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "models/k3/synth/measure.h"
#include "models/k3/synth/preset.h"
#include "models/k3/synth/synth.h"
#include "runtime/options/command_line.h"
#include "runtime/process/stop_request.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

const CommandLine kSynth{
    .name = "penstock synth",
    .summary = "Writes a random checkpoint of any shape, the same for the same options and seed.",
    .positional = "out",
    .examples = {"penstock synth -o wide --layers 13 --hidden 512 --experts 64 --seed 7",
                 "penstock synth -o slice --preset k3-slice --layers 6 --experts 48 --vocab 8192",
                 "penstock inspect wide"}};

// What the command adds to the checkpoint's options.
struct Request {
  std::string preset = "tiny";
  uint64_t measure = 0;
  bool json = false;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("preset", c.preset, {"tiny", "k3-slice"},
      "Defaults of all other options. tiny: those shown here. k3-slice: released layer shapes with "
      "6 layers, 48 experts and 8192 tokens, --weights trained --routes k3-like --measure 16.");
    v("measure", c.measure, "tokens", 0, 1 << 20,
      "Random ids that are run afterwards, to tell how tokens choose experts. 0: none.");
    v("json", c.json, "What was made and measured as JSON, on stdout.");
  }
};

struct Settings {
  Request request;
  SynthOptions synth;

  OptionSet Rows() {
    OptionSet rows;
    rows.Add("synth", request);
    rows.Add("synth", synth);
    return rows;
  }
};

// Read twice: the preset gives the values that everything else, wherever it stands, then changes.
Result<Parsed> Parse(std::span<const std::string> arguments, Settings& settings) {
  OptionSet first = settings.Rows();
  PENSTOCK_TRY(const Parsed parsed, ParseCommandLine(kSynth, arguments, first));
  if (parsed == Parsed::kHelp) return parsed;
  const std::string preset = settings.request.preset;
  settings.request = Request{.preset = preset, .measure = PresetMeasure(preset)};
  settings.synth = PresetOptions(preset);
  OptionSet second = settings.Rows();
  return ParseCommandLine(kSynth, arguments, second);
}

struct Made {
  SynthResult files;
  double seconds = 0;
  std::optional<RouteStatistics> routes;
};

Status Write(Console& console, const SynthOptions& options, const StopRequest& stop, Made& made) {
  const auto begin = std::chrono::steady_clock::now();
  bool started = false;
  auto result = Synthesize(options, [&](uint64_t done, uint64_t total) {
    if (!std::exchange(started, true)) console.StartProgress("MiB", total / kMiB);
    console.Advance(done / kMiB, "");
    return !stop.requested();
  });
  console.EndProgress();
  PENSTOCK_TRY(made.files, std::move(result));
  made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return {};
}

Status Measure(Console& console, const Settings& settings, const StopRequest& stop, Made& made) {
  const uint64_t tokens = settings.request.measure;
  if (tokens == 0) return {};
  console.StartProgress("tokens", tokens);
  auto record = RecordRoutes(
      settings.synth.out, tokens, settings.synth.seed,
      [&](uint64_t done) {
        console.Advance(done, "measured");
        return !stop.requested();
      },
      console.notice());
  console.EndProgress();
  PENSTOCK_TRY(const RouteRecord routes, std::move(record));
  made.routes = StatisticsOf(routes);
  return {};
}

std::string RouteTable(const RouteStatistics& s) {
  const auto percent = [](double share) { return fmt::format("{:5.1f} %", 100 * share); };
  return fmt::format(
      "routes of {} random ids ({} expected where they tell nothing)\n"
      "  usage entropy of a layer    {:.2f} of {:.2f} bits\n"
      "  repeated from token before  {}  (recall of the previous token's routes)\n"
      "  recall of the next router   {}\n"
      "  LRU hits with {:6} experts {}  (a quarter of all)\n",
      s.steps, percent(s.chance), s.entropy, s.most_entropy, percent(s.repeat_rate),
      percent(s.next_recall), s.cache, percent(s.lru_hit_rate));
}

Json RouteJson(const RouteStatistics& s) {
  return {{"steps", s.steps},
          {"chance", s.chance},
          {"usage_entropy_bits", s.entropy},
          {"most_entropy_bits", s.most_entropy},
          {"repeat_rate", s.repeat_rate},
          {"recall", {{"next", s.next_recall}, {"previous", s.repeat_rate}}},
          {"lru", {{"experts", s.cache}, {"hit_rate", s.lru_hit_rate}}}};
}

std::string MadeJson(Settings& settings, const Made& made) {
  Json out = {{"schema", "penstock.synth.v1"}};
  out["options"] = settings.Rows().ToJson();
  out["tensors"] = made.files.tensors;
  out["shards"] = made.files.files;
  out["bytes"] = made.files.bytes;
  out["seconds"] = made.seconds;
  out["routes"] = made.routes ? RouteJson(*made.routes) : Json();
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status WriteAndMeasure(Console& console, Settings& settings, const StopRequest& stop) {
  Made made;
  PENSTOCK_TRY_VOID(Write(console, settings.synth, stop, made));
  console.Say(fmt::format("{}: {} tensors, {} in {} shards, {:.0f} MB/s", settings.synth.out,
                          made.files.tensors, DescribeSize(made.files.bytes), made.files.files,
                          static_cast<double>(made.files.bytes) * 1e-6 / made.seconds));
  PENSTOCK_TRY_VOID(Measure(console, settings, stop, made));
  if (made.routes) console.SayPlain(RouteTable(*made.routes));
  return settings.request.json ? console.Write(MadeJson(settings, made)) : Status();
}

}  // namespace

int RunSynth(Console& console, std::span<const std::string> arguments) {
  Settings settings;
  const auto parsed = Parse(arguments, settings);
  if (!parsed) return console.Fail(parsed.error());
  if (*parsed == Parsed::kHelp) return console.Answer(FormatHelp(kSynth, settings.Rows()));
  if (settings.synth.out.empty()) {
    return console.Fail(Refused("expected a directory to write: -o DIR"));
  }
  StopRequest stop;
  if (const Status listens = stop.Listen(); !listens) return console.Fail(listens.error());
  const Status done = WriteAndMeasure(console, settings, stop);
  return done ? 0 : stop.ExitCode(console.Fail(done.error()));
}

}  // namespace penstock::k3
