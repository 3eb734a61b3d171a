#include "models/k3/commands/generate/run_record.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "models/k3/commands/generate/figures_record.h"

namespace penstock::k3 {

static_assert(std::endian::native == std::endian::little, "--logits writes the row as it lies");

std::string_view ErrorName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kFailed:
      return "failed";
    case ErrorCode::kRefused:
      return "refused";
    case ErrorCode::kUnsound:
      return "unsound";
    case ErrorCode::kCancelled:
      return "cancelled";
  }
  return "failed";
}

std::string FidelityLabel(const Shape& shape, bool drafts) {
  return fmt::format("weights exact, experts {0}/{0}, activations f32, codec lossless, {1}",
                     shape.top_k, drafts ? "drafts verified" : "no drafts");
}

namespace {

std::filesystem::path Resolved(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path whole =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
  return whole.empty() ? std::filesystem::path(path) : whole;
}

// A file that a run may write: nobody's yet, unless it may be replaced; never among the weights.
Status CheckFree(const std::string& path, bool replace, std::span<const std::string> weights) {
  std::error_code ignored;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  for (const std::string& directory : weights) {
    if (std::filesystem::equivalent(parent.empty() ? "." : parent, directory, ignored)) {
      return Refused(
          fmt::format("{} is in {}, from where the weights are read: expected another "
                      "directory",
                      path, directory));
    }
  }
  for (const std::string& name : {path, path + ".partial"}) {
    if (replace || !std::filesystem::is_regular_file(name, ignored)) continue;
    return Refused(fmt::format("{} exists; --force replaces it", name));
  }
  return {};
}

}  // namespace

Status RunRecord::CheckPaths(const RunOptions& options, std::span<const std::string> weights,
                             const StateOptions& state) {
  std::vector<std::filesystem::path> taken;  // What is written, by whatever name it was given.
  const auto is_taken = [&](const std::filesystem::path& file) {
    return std::find(taken.begin(), taken.end(), file) != taken.end();
  };
  for (const std::string& path : {options.events, options.logits, options.graph, options.routes,
                                  options.trace, state.save_state}) {
    if (path.empty()) continue;
    for (const char* suffix : {"", ".partial"}) {
      const std::filesystem::path file = Resolved(path + suffix);
      if (is_taken(file)) {
        return Refused(fmt::format("{} would be written by two different outputs", file.string()));
      }
      taken.push_back(file);
    }
    const bool resumed = path == state.save_state && state.resume;
    PENSTOCK_TRY_VOID(CheckFree(path, options.force || resumed, weights));
  }
  if (state.load_state.empty()) return {};
  const std::filesystem::path loaded = Resolved(state.load_state);
  const bool goes_on = !state.save_state.empty() && loaded == Resolved(state.save_state);
  if (is_taken(loaded) && !goes_on) {
    return Refused(
        fmt::format("{} was given for --load-state and for an output", state.load_state));
  }
  return {};
}

Result<RunRecord> RunRecord::Create(const RunOptions& options) {
  RunRecord record;
  if (!options.events.empty()) {
    PENSTOCK_TRY(record.events_, EventLog::Create(options.events, kEventSchema, options.force));
  }
  if (!options.logits.empty()) {
    PENSTOCK_TRY(record.logits_, RecordFile::Create(options.logits, options.force));
  }
  if (!options.graph.empty()) {
    PENSTOCK_TRY(record.graph_, RecordFile::Create(options.graph, options.force));
  }
  if (!options.routes.empty()) {
    PENSTOCK_TRY(record.routes_, RecordFile::Create(options.routes, options.force));
  }
  if (!options.trace.empty()) {
    PENSTOCK_TRY(record.trace_, RecordFile::Create(options.trace, options.force));
  }
  return record;
}

Status RunRecord::Routes(std::span<const Route> routes) {
  std::string lines;
  for (const Route& route : routes) lines += RoutesLine(route);
  return routes_->Append(lines);
}

Status RunRecord::Trace(const penstock::Trace& trace) {
  return trace.Write([this](std::string_view piece) { return trace_->Append(piece); });
}

Status RunRecord::Write(std::string_view name, const Json& body) {
  return events_ ? events_->Write(name, body) : Status();
}

Status RunRecord::Start(const Json& body) { return Write("run_start", body); }

Status RunRecord::Step(const text::StepRecord& step, const StepStats& stats, uint64_t rss_bytes,
                       std::optional<uint64_t> kernel_bytes) {
  if (!events_) return {};
  Json stalls = Json::object();
  for (const auto& [name, ns] : stats.stall_ns) stalls[name] = ns;
  Json record = {
      {"n", stats.n},
      {"t_ns", stats.t_ns},
      {"positions", stats.positions},
      {"prompt", step.prompt},
      {"drafted", step.drafted},
      {"accepted", step.accepted},
      {"bytes",
       {{"trunk", stats.trunk_bytes},
        {"expert", stats.expert_bytes},
        {"head", stats.head_bytes},
        {"embed", stats.embed_bytes}}},
      {"device_bytes", stats.device_bytes},
      {"reads", stats.reads},
      {"expert_hits", stats.expert_hits},
      {"expert_misses", stats.expert_misses},
      {"predicted",
       {{"useful", stats.predicted_useful_bytes}, {"wasted", stats.predicted_wasted_bytes}}},
      {"read_ahead_stops", {{"ring", stats.stopped_by_ring}, {"depth", stats.stopped_by_depth}}},
      {"decode", {{"ns", stats.decode_ns}, {"bytes", stats.decoded_bytes}}},
      {"stall_ns", stalls},
      {"rss", rss_bytes}};
  record.update(FiguresToJson(stats.figures, "step"));
  if (!step.prompt) {
    record["bytes_per_token"] =
        static_cast<double>(stats.bytes()) / static_cast<double>(1 + step.accepted);
  }
  if (kernel_bytes) record["kernel_bytes"] = *kernel_bytes;
  return Write("step", record);
}

Status RunRecord::Token(const text::TokenRecord& token, std::string_view text) {
  if (logits_) {
    PENSTOCK_TRY_VOID(logits_->Append(
        {reinterpret_cast<const char*>(token.logits.data()), token.logits.size_bytes()}));
  }
  Json record = {{"id", token.id}, {"text", text}, {"pos", token.position}};
  if (token.log_probability) record["logprob"] = *token.log_probability;
  return Write("token", record);
}

Status RunRecord::End(const Json& body) {
  PENSTOCK_TRY_VOID(NameFiles());
  return Write("run_end", body);
}

Status RunRecord::Fail(const Error& error, const Json& body) {
  const Status named = NameFiles();
  Json record = {{"code", ErrorName(error.code)},
                 {"message", error.message},
                 {"where", error.where},
                 {"exit", ExitCode(error)}};
  record.update(body);
  PENSTOCK_TRY_VOID(Write("run_error", record));
  return named;
}

Status RunRecord::NameFiles() {
  Status named = logits_ ? logits_->Finish() : Status();
  Status graph_named = graph_ ? graph_->Finish() : Status();
  Status routes_named = routes_ ? routes_->Finish() : Status();
  Status trace_named = trace_ ? trace_->Finish() : Status();
  for (Status* status : {&named, &graph_named, &routes_named}) {
    if (!*status) return std::move(*status);
  }
  return trace_named;
}

void RunRecord::GiveUp() {
  if (!events_) return;
  events_->WriteUnlessBusy(
      "run_error", {{"code", ErrorName(ErrorCode::kCancelled)},
                    {"message", "stopped by a signal before the step under way had ended"}});
}

}  // namespace penstock::k3
