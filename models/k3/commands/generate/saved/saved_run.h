#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/pack/write/output_file.h"
#include "models/k3/commands/generate/options.h"
#include "models/k3/commands/generate/saved/state_options.h"
#include "models/k3/config/shape.h"
#include "models/k3/engine.h"
#include "models/k3/state/saved_state.h"
#include "models/text/generate.h"
#include "runtime/notice.h"
#include "runtime/options/options.h"

namespace penstock::k3 {

// The sequence of one run of `generate`, which may have begun in another process and may go on in
// one: where it starts, what of it is known, and the files it is saved in.
//
// All ids are the prompt's (given now, behind those of --load-state), then the chosen ones. Of
// these the first are `replayed` where a run is resumed.
//
// Two runs do not write one file. A run holds the state file (a lock that ends with it, however it
// ends; no file of its own), and what it puts in its place after each save; another one is refused
// when it begins. For an instant after each save, and until the first one where there was no file,
// nobody holds it: two that both come through fail no later than when both write, and the file is
// whole at any time (io/sealed/sealed_file.h).
//
// Threads: one.
class SavedRun {
 public:
  // Reads what --load-state and --resume name, long before an engine pins anything. Refused, with
  // both values: a file that does not belong to the model, is longer than the context, or was made
  // from another prompt or with other settings. Refused too: a --save-state that cannot be written,
  // or that another run writes. `notice` is told when there is nothing to resume.
  static Result<SavedRun> Open(const GenerateSettings& settings, const Config& config,
                               std::vector<text::TokenId> prompt, const Notice& notice);

  // Refuse a run that is resumed: one that is to give fewer tokens than there are, or others.
  Status CheckCount(size_t n) const;
  Status CheckForced(std::span<const text::TokenId> forced) const;

  std::span<const text::TokenId> prompt() const { return All().first(sequence_.prompt); }
  std::span<const text::TokenId> replayed() const {
    return All().subspan(sequence_.prompt, replayed_);
  }
  // What the state that the run starts from has consumed, and what it has not; before the first
  // token.
  std::span<const text::TokenId> consumed() const { return All().first(start_); }
  std::span<const text::TokenId> pending() const { return All().subspan(start_); }

  // Brings the state into the engine.
  Status Restore(Engine& engine);
  // What the run starts from, once; null for the beginning.
  text::StateRef TakeState() { return std::move(state_); }

  // Gives `take` the tokens of the resumed run again, in turn, until it answers false. Why the run
  // is at its end with the last of them, if it is: as text::Generate would say it.
  std::optional<text::StopReason> Replay(
      const text::GenerateOptions& options, std::span<const text::TokenId> eos,
      const std::function<bool(const text::TokenRecord&)>& take) const;
  // A further token was chosen, `index` among all of the run.
  void Append(const text::TokenRecord& token);
  // Whether the run is to be saved behind that token.
  bool IsDue(size_t index) const {
    return options_.checkpoint_every != 0 && (index + 1) % options_.checkpoint_every == 0;
  }
  bool wanted() const { return !options_.save_state.empty(); }

  // Writes the file, unless it is there as it would be: `state` is after some of the ids known.
  // Answers the facts of the event that tells of it, null without one. After a failure, as when
  // another run writes the file, nothing is written any more.
  Result<Json> Save(const Engine& engine, const text::StateRef& state);

  uint64_t saves() const { return saves_; }
  std::string Summary() const;  // "12 times, 5.2 GiB in 3.210 s"

 private:
  explicit SavedRun(const StateOptions& options) : options_(options) {}
  std::span<const text::TokenId> All() const { return sequence_.ids; }
  void GoOnFrom(SavedState file);
  Status Resume(SavedState file);
  Status CheckLogProbabilities(const SavedState& file) const;
  Status Hold();

  StateOptions options_;
  SavedSequence sequence_;
  size_t replayed_ = 0;
  size_t start_ = 0;                  // Position of the state that the run starts from.
  std::unique_ptr<SavedState> file_;  // It, until Restore.
  text::StateRef state_;
  std::optional<io::OutputFile> held_;  // The file of --save-state as it is, once it is there.
  size_t saved_position_ = 0, saved_ids_ = 0;  // Of the file as it is.
  bool failed_ = false;
  uint64_t saves_ = 0, bytes_ = 0, ns_ = 0;
};

}  // namespace penstock::k3
