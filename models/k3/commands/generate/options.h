#pragma once

#include <string>

#include "io/options.h"
#include "models/k3/commands/generate/saved/state_options.h"
#include "models/k3/config/options.h"
#include "models/text/draft/drafting.h"
#include "models/text/generate.h"
#include "models/text/sampler.h"
#include "runtime/options/options.h"

namespace penstock::k3 {

// What one run reads, and where its results go.
struct RunOptions {
  std::string model;
  std::string prompt;
  std::string file;
  std::string ids;
  std::string force_ids;
  std::string output = "auto";
  bool stats = false;
  std::string events;
  std::string logits;
  std::string graph;
  std::string routes;
  std::string trace;
  std::string trace_steps;
  std::string verify_against;
  bool force = false;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("model,m", c.model, "Directory of the checkpoint, as released.");
    v("prompt,p", c.prompt, "The text to continue.");
    v("file,f", c.file, "File with the text to continue.");
    v("ids", c.ids, "The token ids to continue, as \"1,2,3\", or @FILE that holds them.");
    v("force-ids", c.force_ids,
      "File of token ids that are emitted in place of the model's choice (teacher forcing). Each "
      "gets its log-probability, the run a perplexity; drafts are verified against them.");
    v("output", c.output, {"auto", "text", "ids", "json", "scores"},
      "What goes to stdout. auto: text, or ids where the checkpoint has no tokenizer. scores: with "
      "--force-ids, and then auto: CSV of position, id and log-probability.");
    v("stats", c.stats, "Show where the time and the bytes went.");
    v("events", c.events, "JSON lines of the run: start, steps, tokens, end.");
    v("logits", c.logits,
      "The logits that chose each token: raw little-endian float32, a row a token. Written as "
      "FILE.partial, named when the run ends, also when it was cut short.");
    v("graph", c.graph, "The graph of a step with its measured times, as DOT, after the run.");
    v("routes", c.routes,
      "JSON lines of the experts that each layer chose at each position of a step and of those "
      "predicted for it, for `penstock replay`. Written as FILE.partial, named when the run ends.");
    v("trace", c.trace,
      "What ran when, as a trace for Perfetto (ui.perfetto.dev) or chrome://tracing: lanes of the "
      "devices and of the threads that decode and compute, bandwidth, bytes in flight, the ring.");
    v("trace-steps", c.trace_steps,
      "The steps that --trace shows, counted from 0, as \"3-5\". Default: 2-4.");
    v("verify-against", c.verify_against,
      "--events file of an earlier run; the first token id that differs ends this one, exit 4.");
    v("force", c.force,
      "Replace the files of --events, --logits, --graph, --routes, --trace and --save-state.");
  }
};

// Everything `penstock generate` can be told. Not to be moved while rows of it are in use.
struct GenerateSettings {
  RunOptions run;
  text::GenerateOptions generate;
  text::DraftOptions draft;
  text::SamplerOptions sampling;
  StateOptions state;
  PipelineOptions pipeline;
  io::IoOptions io;

  OptionSet Rows();
};

}  // namespace penstock::k3
