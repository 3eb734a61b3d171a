#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "models/k3/commands/generate/options.h"
#include "models/k3/commands/generate/saved/state_options.h"
#include "models/k3/experts/routes.h"
#include "models/k3/step/pipeline.h"
#include "models/text/generate.h"
#include "runtime/output/events.h"
#include "runtime/output/file_out.h"
#include "runtime/result.h"
#include "runtime/trace/trace.h"

namespace penstock::k3 {

inline constexpr const char* kEventSchema = "penstock.event.v1";

// "refused", "failed", "unsound", "cancelled".
std::string_view ErrorName(ErrorCode code);

// What of the run is exact, from the checkpoint's facts: the weights are used as stored and all
// chosen experts take part; drafts, where there are any, are verified.
std::string FidelityLabel(const Shape& shape, bool drafts);

// The files that a run leaves behind: --events, --logits, --graph, --routes and --trace, each
// absent when it was not asked for.
//   run_start  version, config, checkpoint_id, label, machine, engine, context, start (positions
//              that a loaded state has consumed), replayed (tokens of a resumed run that come out
//              again), prompt_ids
//   step       n, t_ns, positions, prompt, drafted, accepted (of these), bytes_per_token (of what
//              it gave, absent for a step that only reads the prompt), bytes{trunk, expert, head,
//              embed}, device_bytes, reads, expert_hits, expert_misses, predicted{useful, wasted},
//              read_ahead_stops{...}, decode{ns, bytes}, stall_ns{...}, rss, kernel_bytes, and what
//              FiguresToJson gives (figures_record.h)
//   token      id, text, pos; logprob (natural, of --force-ids)
//   state_saved  path, pos, bytes, t_ns
//   run_end    tokens, steps, stop, t_ns, ...      or      run_error  code, message, where, tokens
// Every function answers the first failure to write (a full disk), which must end the run.
// Threads: one, save GiveUp.
class RunRecord {
 public:
  // Refuses, before anything is opened or written, a file that is there already (unless --force),
  // one name for two outputs, and a file in one of the directories of the weights. The state of a
  // run that is resumed may be there; what is read must not be written over by another output.
  static Status CheckPaths(const RunOptions& options, std::span<const std::string> weights,
                           const StateOptions& state = {});

  // Refused when a file is there already, unless `force`.
  static Result<RunRecord> Create(const RunOptions& options);

  Status Start(const Json& body);
  // `kernel_bytes`: what the kernel counted on the device meanwhile, of all processes.
  Status Step(const text::StepRecord& step, const StepStats& stats, uint64_t rss_bytes,
              std::optional<uint64_t> kernel_bytes = std::nullopt);
  Status Token(const text::TokenRecord& token, std::string_view text);
  Status StateSaved(const Json& facts) { return Write("state_saved", facts); }
  // What the trace has recorded so far.
  Status Trace(const penstock::Trace& trace);
  bool wants_graph() const { return graph_.has_value(); }
  bool wants_routes() const { return routes_.has_value(); }
  Status StartRoutes(const RoutesHeader& header) { return routes_->Append(RoutesLine(header)); }
  Status Routes(std::span<const Route> routes);  // Of one step.
  Status Graph(const std::string& dot) { return graph_->Append(dot); }
  // The last record, and the final names of the other files.
  Status End(const Json& body);
  Status Fail(const Error& error, const Json& body);

  // From another thread when the run does not stop: closes the events if nobody writes just now.
  void GiveUp();

 private:
  Status Write(std::string_view name, const Json& body);
  Status NameFiles();

  std::unique_ptr<EventLog> events_;
  std::optional<RecordFile> logits_;
  std::optional<RecordFile> graph_;
  std::optional<RecordFile> routes_;
  std::optional<RecordFile> trace_;
};

}  // namespace penstock::k3
