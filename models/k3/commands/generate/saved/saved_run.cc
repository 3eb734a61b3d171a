#include "models/k3/commands/generate/saved/saved_run.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "io/checkpoint.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

// Long before an engine has pinned anything.
Result<SavedState> OpenStateOf(const std::string& path, const std::string& model,
                               const Config& config) {
  PENSTOCK_TRY(SavedState file, SavedState::Open(path));
  PENSTOCK_TRY(const auto checkpoint, io::Checkpoint::Open(model, nullptr));
  PENSTOCK_TRY(std::string identity, checkpoint->Identity());
  PENSTOCK_TRY_VOID(file.CheckOwner({ConfigDigest(config.text_json), std::move(identity)}));
  return file;
}

Status CheckPositions(const SavedState& file, uint64_t positions, uint64_t context) {
  if (positions <= context) return {};
  return Refused(fmt::format("{}: has {} positions, more than the context of {}", file.path(),
                             positions, context));
}

Status CheckSamePrompt(const SavedState& file, std::span<const text::TokenId> prompt) {
  const SavedSequence& saved = file.facts().sequence;
  if (prompt.size() != saved.prompt) {
    return Refused(
        fmt::format("{}: is of a run with another prompt: expected {} tokens as there, got {}",
                    file.path(), saved.prompt, prompt.size()));
  }
  const auto [mine, theirs] = std::mismatch(prompt.begin(), prompt.end(), saved.ids.begin());
  if (mine == prompt.end()) return {};
  return Refused(fmt::format(
      "{}: is of a run with another prompt: expected id {} as there at token {}, got {}",
      file.path(), *theirs, mine - prompt.begin(), *mine));
}

Status CheckSameSettings(const SavedState& file, const Json& settings) {
  const Json& saved = file.facts().sequence.settings;
  if (saved == settings) return {};
  for (const auto& item : saved.items()) {
    const auto mine = settings.find(item.key());
    if (mine == settings.end() || *mine == item.value()) continue;
    return Refused(fmt::format("{}: is of a run with another --{}: expected {} as there, got {}",
                               file.path(), item.key(), item.value().dump(), mine->dump()));
  }
  return Refused(fmt::format("{}: is of a run with other settings: expected {} as there, got {}",
                             file.path(), saved.dump(), settings.dump()));
}

Status CheckOptions(const StateOptions& options) {
  if (options.save_state.empty() && (options.resume || options.checkpoint_every != 0)) {
    return Refused(fmt::format("--{} is for a saved state: expected --save-state FILE",
                               options.resume ? "resume" : "checkpoint-every"));
  }
  if (options.resume && options.save_state == options.load_state) {
    return Refused(fmt::format("--resume goes on from {} as it is: expected no --load-state of it",
                               options.save_state));
  }
  return {};
}

// A regular file, or none, in a directory where it can be made anew.
Status CheckWritable(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    return Refused(fmt::format("{}: expected a regular file for --save-state", path));
  }
  // Nothing is made to try: a partial file may be another run's.
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string directory = parent.empty() ? "." : parent.string();
  if (std::filesystem::is_directory(directory, ignored) &&
      ::access(directory.c_str(), W_OK | X_OK) == 0) {
    return {};
  }
  return Refused(fmt::format("{}: expected a directory that can be written, {}", path, directory));
}

}  // namespace

Result<SavedRun> SavedRun::Open(const GenerateSettings& settings, const Config& config,
                                std::vector<text::TokenId> prompt, const Notice& notice) {
  const StateOptions& options = settings.state;
  PENSTOCK_TRY_VOID(CheckOptions(options));
  const uint64_t context =
      settings.generate.context > 0 ? settings.generate.context : config.shape.max_context;
  SavedRun run(options);
  if (run.wanted()) {
    PENSTOCK_TRY_VOID(CheckWritable(options.save_state));
    if (const Status held = run.Hold(); !held) return Refused(held.error().message);
  }
  if (!options.load_state.empty()) {
    PENSTOCK_TRY(SavedState file, OpenStateOf(options.load_state, settings.run.model, config));
    PENSTOCK_TRY_VOID(CheckPositions(file, file.facts().sequence.ids.size(), context));
    run.GoOnFrom(std::move(file));
  }
  SavedSequence& sequence = run.sequence_;
  sequence.ids.insert(sequence.ids.end(), prompt.begin(), prompt.end());
  sequence.prompt = sequence.ids.size();
  sequence.settings = OptionsToJson(settings.sampling);
  sequence.settings["force-ids"] = !settings.run.force_ids.empty();
  if (!options.resume) return run;
  std::error_code ignored;
  if (!std::filesystem::exists(options.save_state, ignored)) {
    Tell(notice, options.save_state + " is not there: the run starts from the beginning");
    return run;
  }
  PENSTOCK_TRY(SavedState file, OpenStateOf(options.save_state, settings.run.model, config));
  PENSTOCK_TRY_VOID(CheckPositions(file, file.facts().position, context));
  PENSTOCK_TRY_VOID(run.Resume(std::move(file)));
  return run;
}

// All of its ids are given ones now.
void SavedRun::GoOnFrom(SavedState file) {
  sequence_.ids = file.facts().sequence.ids;
  start_ = file.facts().position;
  file_ = std::make_unique<SavedState>(std::move(file));
}

Status SavedRun::Resume(SavedState file) {
  PENSTOCK_TRY_VOID(CheckSamePrompt(file, sequence_.ids));
  PENSTOCK_TRY_VOID(CheckSameSettings(file, sequence_.settings));
  PENSTOCK_TRY_VOID(CheckLogProbabilities(file));
  sequence_ = file.facts().sequence;
  replayed_ = sequence_.ids.size() - sequence_.prompt;
  start_ = saved_position_ = file.facts().position;
  saved_ids_ = sequence_.ids.size();
  file_ = std::make_unique<SavedState>(std::move(file));
  return {};
}

// Given ids have them, others have none.
Status SavedRun::CheckLogProbabilities(const SavedState& file) const {
  const SavedSequence& saved = file.facts().sequence;
  const size_t chosen = saved.ids.size() - saved.prompt;
  const size_t expected = sequence_.settings["force-ids"] == true ? chosen : 0;
  if (saved.log_probabilities.size() == expected) return {};
  return Refused(fmt::format("{}: expected {} log-probabilities of {} chosen ids, got {}",
                             file.path(), expected, chosen, saved.log_probabilities.size()));
}

// Where there is a file to hold.
Status SavedRun::Hold() {
  std::error_code ignored;
  if (held_ || !std::filesystem::exists(options_.save_state, ignored)) return {};
  auto held = io::OutputFile::OpenHeld(options_.save_state);
  if (held) {
    held_ = std::move(*held);
    return {};
  }
  if (held.error().sys != EWOULDBLOCK) return std::move(held).error();
  return Failed(
      fmt::format("{}: another run writes it: expected another --save-state", options_.save_state),
      EWOULDBLOCK);
}

Status SavedRun::CheckCount(size_t n) const {
  if (replayed_ <= n) return {};
  return Refused(fmt::format("{}: has {} generated tokens: expected -n of at least as many, got {}",
                             options_.save_state, replayed_, n));
}

Status SavedRun::CheckForced(std::span<const text::TokenId> forced) const {
  const auto earlier = replayed();
  const size_t both = std::min(earlier.size(), forced.size());
  const auto [theirs, mine] = std::mismatch(
      earlier.begin(), earlier.begin() + static_cast<ptrdiff_t>(both), forced.begin());
  if (theirs == earlier.begin() + static_cast<ptrdiff_t>(both)) return {};
  return Refused(fmt::format(
      "{}: is of a run with other --force-ids: expected id {} as there at token {}, got {}",
      options_.save_state, *theirs, theirs - earlier.begin(), *mine));
}

Status SavedRun::Restore(Engine& engine) {
  if (file_) {
    PENSTOCK_TRY(state_, engine.Restore(*file_));
    file_.reset();
  }
  return {};
}

std::optional<text::StopReason> SavedRun::Replay(
    const text::GenerateOptions& options, std::span<const text::TokenId> eos,
    const std::function<bool(const text::TokenRecord&)>& take) const {
  const std::span<const text::TokenId> ids = replayed();
  for (size_t index = 0; index < ids.size(); ++index) {
    text::TokenRecord token;
    token.id = ids[index];
    token.index = index;
    token.position = sequence_.prompt + index;
    token.eos = std::find(eos.begin(), eos.end(), token.id) != eos.end();
    if (!sequence_.log_probabilities.empty()) {
      token.log_probability = sequence_.log_probabilities[index];
    }
    const bool wanted = take(token);
    if (token.eos && !options.ignore_eos) return text::StopReason::kEos;
    if (!wanted) return text::StopReason::kRequested;
    if (index + 1 >= options.n) return text::StopReason::kLength;
    if (token.position >= options.context) return text::StopReason::kContext;
  }
  return std::nullopt;
}

void SavedRun::Append(const text::TokenRecord& token) {
  sequence_.ids.push_back(token.id);
  if (token.log_probability) sequence_.log_probabilities.push_back(*token.log_probability);
}

Result<Json> SavedRun::Save(const Engine& engine, const text::StateRef& state) {
  const bool there = state && state->position() == saved_position_ && All().size() == saved_ids_;
  if (!wanted() || failed_ || there || !state || state->position() == 0) return Json();
  const auto start = std::chrono::steady_clock::now();
  const Status ours = Hold();
  auto bytes =
      ours ? engine.Save(options_.save_state, state, sequence_) : Result<uint64_t>(ours.error());
  held_.reset();  // It has been replaced, or is for others to write.
  if (!bytes) {
    failed_ = true;
    return std::move(bytes).error();
  }
  (void)Hold().has_value();  // Whoever was faster has it: the next save says so.
  const std::chrono::nanoseconds elapsed = std::chrono::steady_clock::now() - start;
  saved_position_ = state->position();
  saved_ids_ = All().size();
  ++saves_;
  bytes_ += *bytes;
  ns_ += static_cast<uint64_t>(elapsed.count());
  return Json{{"path", options_.save_state},
              {"pos", saved_position_},
              {"bytes", *bytes},
              {"t_ns", elapsed.count()}};
}

std::string SavedRun::Summary() const {
  return fmt::format("{} times, {} in {:.3f} s", saves_, DescribeSize(bytes_),
                     static_cast<double>(ns_) * 1e-9);
}

}  // namespace penstock::k3
