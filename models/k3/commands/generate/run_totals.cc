#include "models/k3/commands/generate/run_totals.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/k3/commands/generate/figures_record.h"

namespace penstock::k3 {
namespace {

double Seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

void RunTotals::Add(const text::StepRecord& step, const StepStats& stats) {
  ++steps_;
  ns_ += step.elapsed_ns;
  if (step.prompt) {
    ++prompt_steps_;
    prompt_positions_ += step.positions;
    prompt_ns_ += step.elapsed_ns;
    prompt_bytes_ += stats.bytes();
  }
  drafted_ += step.drafted;
  accepted_ += step.accepted;
  trunk_bytes_ += stats.trunk_bytes;
  expert_bytes_ += stats.expert_bytes;
  head_bytes_ += stats.head_bytes;
  embed_bytes_ += stats.embed_bytes;
  device_bytes_ += stats.device_bytes;
  reads_ += stats.reads;
  expert_hits_ += stats.expert_hits;
  expert_misses_ += stats.expert_misses;
  predicted_useful_bytes_ += stats.predicted_useful_bytes;
  predicted_wasted_bytes_ += stats.predicted_wasted_bytes;
  stopped_by_ring_ += stats.stopped_by_ring;
  stopped_by_depth_ += stats.stopped_by_depth;
  decode_ns_ += stats.decode_ns;
  decoded_bytes_ += stats.decoded_bytes;
  figures_.Add(stats.figures);
  for (const auto& [name, ns] : stats.stall_ns) {
    const auto known = std::find_if(stall_ns_.begin(), stall_ns_.end(),
                                    [&](const auto& stall) { return stall.first == name; });
    if (known == stall_ns_.end()) {
      stall_ns_.emplace_back(name, ns);
    } else {
      known->second += ns;
    }
  }
}

uint64_t RunTotals::bytes() const {
  return trunk_bytes_ + expert_bytes_ + head_bytes_ + embed_bytes_;
}

double RunTotals::tokens_per_second() const {
  // The first token comes with the prompt's last step.
  return Ratio(step_tokens(), Seconds(ns_ - prompt_ns_));
}

double RunTotals::bytes_per_token() const {
  return Ratio(static_cast<double>(bytes() - prompt_bytes_), step_tokens());
}

double RunTotals::prompt_positions_per_second() const {
  return Ratio(static_cast<double>(prompt_positions_), Seconds(prompt_ns_));
}

Json RunTotals::ToJson() const {
  Json stalls = Json::object();
  for (const auto& [name, ns] : stall_ns_) stalls[name] = ns;
  Json json = {
      {"tokens", tokens_},
      {"steps", steps_},
      {"prompt_positions", prompt_positions_},
      {"prompt_steps", prompt_steps_},
      {"prompt_ns", prompt_ns_},
      {"drafted", drafted_},
      {"accepted", accepted_},
      {"t_ns", ns_},
      {"tokens_per_second", tokens_per_second()},
      {"bytes_per_token", bytes_per_token()},
      {"bytes",
       {{"trunk", trunk_bytes_},
        {"expert", expert_bytes_},
        {"head", head_bytes_},
        {"embed", embed_bytes_}}},
      {"device_bytes", device_bytes_},
      {"reads", reads_},
      {"expert_hits", expert_hits_},
      {"expert_misses", expert_misses_},
      {"predicted", {{"useful", predicted_useful_bytes_}, {"wasted", predicted_wasted_bytes_}}},
      {"read_ahead_stops", {{"ring", stopped_by_ring_}, {"depth", stopped_by_depth_}}},
      {"decode", {{"ns", decode_ns_}, {"bytes", decoded_bytes_}}},
      {"stall_ns", stalls}};
  json.update(FiguresToJson(figures_, "run"));
  return json;
}

std::string RunTotals::Summary() const {
  return fmt::format(
      "{} tokens, {:.3g} tokens/s; read {}: trunk {}, experts {}, head {}, embedding {}", tokens_,
      tokens_per_second(), DescribeSize(bytes()), DescribeSize(trunk_bytes_),
      DescribeSize(expert_bytes_), DescribeSize(head_bytes_), DescribeSize(embed_bytes_));
}

std::string RunTotals::TokenLines() const {
  const uint64_t generated_steps = steps_ - prompt_steps_;
  std::string out =
      FigureRow("prompt", fmt::format("{} positions in {} steps and {:.3f} s, {:.3g} positions/s",
                                      prompt_positions_, prompt_steps_, Seconds(prompt_ns_),
                                      prompt_positions_per_second()));
  out += FigureRow(
      "generated",
      fmt::format("{} tokens, {:.3g} tokens/s, {:.3f} ms a step, {} a token", tokens_,
                  tokens_per_second(),
                  1e3 * Ratio(Seconds(ns_ - prompt_ns_), static_cast<double>(generated_steps)),
                  DescribeSize(static_cast<uint64_t>(bytes_per_token()))));
  out += FigureRow(
      "drafts", fmt::format("{} of {} drafted ids were right, {:.2f} tokens a step", accepted_,
                            drafted_, Ratio(step_tokens(), static_cast<double>(generated_steps))));
  return out;
}

std::string RunTotals::Table(uint64_t peak_rss_bytes) const {
  const double seconds = Seconds(ns_);
  std::string out = TokenLines();
  out += FigureRow("read, payload", fmt::format("{} at {}/s", DescribeSize(bytes()),
                                                DescribeSize(static_cast<uint64_t>(Ratio(
                                                    static_cast<double>(bytes()), seconds)))));
  const std::pair<const char*, uint64_t> sources[] = {{"  trunk", trunk_bytes_},
                                                      {"  experts", expert_bytes_},
                                                      {"  head", head_bytes_},
                                                      {"  embedding", embed_bytes_}};
  for (const auto& [name, value] : sources) {
    out += FigureRow(name, fmt::format("{}, {} a step", DescribeSize(value),
                                       DescribeSize(value / std::max<uint64_t>(steps_, 1))));
  }
  out += FigureRow("read, from the device",
                   fmt::format("{} in {} reads", DescribeSize(device_bytes_), reads_));
  const double uses = static_cast<double>(expert_hits_ + expert_misses_);
  out +=
      FigureRow("experts in the cache",
                fmt::format("{} of {} uses, {:.1f} %", expert_hits_, expert_hits_ + expert_misses_,
                            100 * Ratio(static_cast<double>(expert_hits_), uses)));
  out += FigureRow("read-ahead stopped", fmt::format("{} times by --ring, {} by --depth",
                                                     stopped_by_ring_, stopped_by_depth_));
  if (decoded_bytes_ != 0) {
    out += FigureRow(
        "decoded",
        fmt::format("{} at {}/s a core, {:.3f} s of all cores", DescribeSize(decoded_bytes_),
                    DescribeSize(static_cast<uint64_t>(
                        Ratio(static_cast<double>(decoded_bytes_), Seconds(decode_ns_)))),
                    Seconds(decode_ns_)));
  }
  return out + StallLines() + FiguresTable(figures_, "run") +
         FigureRow("peak resident", DescribeSize(peak_rss_bytes));
}

std::string RunTotals::StallLines() const {
  uint64_t waited = 0;
  for (const auto& stall : stall_ns_) waited += stall.second;
  std::string out = FigureRow("time", fmt::format("{:.3f} s, nothing ran for {:.3f} s of it",
                                                  Seconds(ns_), Seconds(waited)));
  for (const auto& [name, ns] : stall_ns_) {
    out += FigureRow("  waited for " + name, fmt::format("{:.3f} s, {:.1f} %", Seconds(ns),
                                                         100 * Ratio(Seconds(ns), Seconds(ns_))));
  }
  return out;
}

}  // namespace penstock::k3
