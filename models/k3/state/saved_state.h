#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "io/sealed/sealed_file.h"
#include "models/k3/state/kda_layout.h"
#include "models/k3/state/saved_facts.h"
#include "models/k3/state/state.h"
#include "ops/kernels/kernels.h"

namespace penstock::k3 {

// A version of a sequence as a sealed file (io/sealed/sealed_file.h):
//   facts    saved_facts.h
//   payload  f32: of each KDA layer the heads at the version's position, each head_floats() as
//            KdaLayout says; then of each MLA layer the rows of all positions, [position][page
//            width]: the parts of ForEachPart
inline constexpr io::SealedKind kSavedStateKind = {'P', 'S', 'K', 'S', 'T', 'A', 'T', '1'};

// Writes a version (from position 1 on), which stays as it is, and what is known of its sequence:
// at least the ids that it has consumed. What was at `path` stays until the new file is whole, and
// with an error, save that the new one may be there when only its directory could not be brought to
// the device (SealedWriter::Seal). An error too while another writer writes `path`. `taps` [kda
// layers], as for FoldState. Answers the bytes of the file. Not while a step runs.
Result<uint64_t> SaveState(const std::string& path, const StateOwner& owner,
                           const SavedSequence& sequence, const SequenceState& version,
                           const ops::Kernels& kernels, std::span<const KdaTaps> taps);

// Such a file, open: what it says is known, and its payload waits. Move-only. Threads: one.
class SavedState {
 public:
  // Refused when it is not such a file, or not whole, or its facts have changed.
  static Result<SavedState> Open(const std::string& path);

  const std::string& path() const { return path_; }
  const SavedFacts& facts() const { return facts_; }
  // Refused, with both values, when the state is of another config or checkpoint.
  Status CheckOwner(const StateOwner& owner) const;
  // The version in the memory of a store; once. Refused when the owner, the shape or the size is
  // another one, when it is larger than the context, and when a bit of the payload has changed.
  Result<std::shared_ptr<const SequenceState>> Load(const StateOwner& owner, StateStore& store);

 private:
  SavedState(std::string path, io::SealedReader reader, SavedFacts facts)
      : path_(std::move(path)), reader_(std::move(reader)), facts_(std::move(facts)) {}
  Status CheckSizes(const StateStore& store) const;

  std::string path_;
  io::SealedReader reader_;
  SavedFacts facts_;
};

}  // namespace penstock::k3
