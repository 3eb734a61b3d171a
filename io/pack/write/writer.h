#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/pack/manifest.h"
#include "io/pack/write/builder.h"
#include "io/pack/write/output_file.h"
#include "io/pack/write/place.h"
#include "runtime/notice.h"
#include "runtime/result.h"
#include "runtime/size.h"

namespace penstock::io {

struct PackWriterOptions {
  uint64_t expected_bytes = 0;  // Of stripes.bin, about: that much room is asked for first.
  // Stripes are brought to the device and into the journal together: after so many bytes or so long.
  uint64_t sync_bytes = 64 * kMiB;
  std::chrono::milliseconds sync_interval{2000};
  // Called while the stripes of a pack begun before are checked: bytes done, of how many. False ends
  // it with kCancelled.
  std::function<bool(uint64_t done, uint64_t of)> on_check;
  Notice notice;
};

// Writes a pack, stripe by stripe in the order of its plan, and goes on with one that was stopped at
// any point: what has been written is checked before it is trusted, and the finished pack is the
// same to the byte, whether it was stopped or not. The pack appears complete at Finish() or not at
// all. Threads: one at a time.
class PackWriter {
 public:
  // New, or where the last one stopped. kRefused: see PackPlace::Take; parameters, tensors or a plan
  // that no pack can have or that differ from those it was begun with; not enough room.
  static Result<std::unique_ptr<PackWriter>> Open(const std::string& directory,
                                                  PackParameters parameters,
                                                  std::vector<PackTensor> tensors,
                                                  std::vector<PlannedStripe> plan,
                                                  PackWriterOptions options);
  ~PackWriter();  // Without Finish, what was appended stays to go on with.
  PackWriter(const PackWriter&) = delete;
  PackWriter& operator=(const PackWriter&) = delete;

  size_t next() const { return manifest_.stripes.size(); }  // The stripe to append, in the plan.
  size_t planned() const { return plan_.size(); }
  uint64_t bytes() const { return manifest_.file_bytes; }  // Of stripes.bin so far.
  const PackManifest& manifest() const { return manifest_; }

  // Writes the stripe next(). kFailed when the device does: the message says how much is written;
  // every later call fails alike, and the next Open goes on. kUnsound when the bytes are no stripe
  // of the plan.
  Status Append(const EncodedStripe& stripe);
  // Returns when all that was appended has reached the device and is in the journal.
  Status Flush();
  // Makes the pack complete. Not before next() == planned(); nothing can be appended afterwards.
  Status Finish();

 private:
  using Clock = std::chrono::steady_clock;

  PackWriter(PackPlace place, PackWriterOptions options)
      : place_(std::move(place)), options_(std::move(options)) {}

  Status OpenFiles();
  Status Begin();
  Status Resume();
  // How many of the stripes in the manifest are whole in the file.
  Result<size_t> CheckStored() const;
  Status Write(const Stripe& stripe, std::span<const std::byte> stored);
  Status WriteJournal();
  Status Publish();
  Error Stopped(const Error& cause);

  PackPlace place_;
  PackWriterOptions options_;
  PackManifest manifest_;  // Of what was appended.
  std::vector<PlannedStripe> plan_;
  OutputFile stripes_;
  OutputFile journal_;
  uint64_t journal_bytes_ = 0;
  size_t journalled_ = 0;  // Stripes.
  Clock::time_point synced_ = Clock::now();
  bool failed_ = false;
  bool sync_failed_ = false;
  bool finished_ = false;
};

}  // namespace penstock::io
