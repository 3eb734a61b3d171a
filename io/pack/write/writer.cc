#include "io/pack/write/writer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "io/pack/directory.h"
#include "io/pack/stripe.h"
#include "io/pack/write/journal.h"
#include "io/safetensors/regular_file.h"
#include "runtime/check.h"

namespace penstock::io {
namespace {

bool IsFull(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

Status CheckAsked(const PackParameters& parameters, const std::vector<PackTensor>& tensors,
                  const std::vector<PlannedStripe>& plan, std::string_view directory) {
  PENSTOCK_TRY_VOID(CheckParameters(parameters, directory));
  PENSTOCK_TRY_VOID(CheckTensors(tensors, directory));
  CoverCheck cover(tensors, directory);
  for (const PlannedStripe& stripe : plan) PENSTOCK_TRY_VOID(cover.Next(stripe));
  return cover.End();
}

}  // namespace

Result<std::unique_ptr<PackWriter>> PackWriter::Open(const std::string& directory,
                                                     PackParameters parameters,
                                                     std::vector<PackTensor> tensors,
                                                     std::vector<PlannedStripe> plan,
                                                     PackWriterOptions options) {
  PENSTOCK_TRY_VOID(CheckAsked(parameters, tensors, plan, directory));
  PENSTOCK_TRY(PackPlace place, PackPlace::Take(directory, options.notice));
  std::unique_ptr<PackWriter> writer(new PackWriter(std::move(place), std::move(options)));
  writer->plan_ = std::move(plan);
  writer->manifest_.parameters = std::move(parameters);
  writer->manifest_.tensors = std::move(tensors);
  writer->manifest_.stripes_path = writer->place_.Path(kPartialStripesName);
  Status opened = writer->OpenFiles();
  if (!opened) {
    writer->failed_ = true;  // Nothing is left to be flushed.
    return std::move(opened).error();
  }
  return writer;
}

PackWriter::~PackWriter() {
  if (!failed_ && !finished_) static_cast<void>(Flush());
}

Status PackWriter::OpenFiles() {
  const std::string journal_path = place_.Path(kJournalName);
  Journal begun;
  if (HasFile(journal_path)) {
    PENSTOCK_TRY(const std::string text, ReadWholeFile(journal_path, kMaxManifestBytes));
    PENSTOCK_TRY(begun, ParseJournal(text, journal_path));
  }
  if (begun.head_bytes > 0) {
    PENSTOCK_TRY_VOID(
        CheckSamePack(begun, manifest_.parameters, manifest_.tensors, plan_, place_.directory()));
  }
  PENSTOCK_TRY_VOID(place_.CheckSpace(options_.expected_bytes));
  // It was stopped when all stripes were written and the manifest was not.
  if (HasFile(place_.Path(kStripesName))) {
    PENSTOCK_TRY_VOID(RenameFile(place_.Path(kStripesName), manifest_.stripes_path));
  }
  PENSTOCK_TRY(journal_, OutputFile::Open(journal_path));
  PENSTOCK_TRY(stripes_, OutputFile::Open(manifest_.stripes_path));
  if (begun.head_bytes == 0) return Begin();
  manifest_.stripes = std::move(begun.stripes);
  PENSTOCK_TRY(const size_t whole, CheckStored());
  manifest_.stripes.resize(whole);
  journalled_ = whole;
  journal_bytes_ = whole == 0 ? begun.head_bytes : begun.ends[whole - 1];
  return Resume();
}

Status PackWriter::Begin() {
  const std::string head = JournalHead(manifest_.parameters, manifest_.tensors, plan_);
  PENSTOCK_TRY_VOID(stripes_.Truncate(0));
  PENSTOCK_TRY_VOID(journal_.Truncate(0));
  PENSTOCK_TRY_VOID(journal_.WriteAt(0, head));
  PENSTOCK_TRY_VOID(journal_.Sync());
  journal_bytes_ = head.size();
  return place_.Sync();
}

Status PackWriter::Resume() {
  if (!manifest_.stripes.empty()) {
    const Stripe& last = manifest_.stripes.back();
    manifest_.file_bytes = last.offset + last.padded_bytes();
  }
  // The journal first: it must never name a stripe that is not there.
  PENSTOCK_TRY_VOID(journal_.Truncate(journal_bytes_));
  PENSTOCK_TRY_VOID(journal_.Sync());
  PENSTOCK_TRY_VOID(stripes_.Truncate(manifest_.file_bytes));
  Tell(options_.notice,
       fmt::format("{}: a pack was begun here: going on with stripe {} of {}, {} bytes are written",
                   place_.directory(), next(), planned(), bytes()));
  return place_.Sync();
}

Result<size_t> PackWriter::CheckStored() const {
  PENSTOCK_TRY(const RegularFile file, RegularFile::Open(manifest_.stripes_path));
  const std::vector<Stripe>& stripes = manifest_.stripes;
  const uint64_t all = stripes.empty() ? 0 : stripes.back().offset + stripes.back().padded_bytes();
  std::vector<char> buffer;
  for (size_t i = 0; i < stripes.size(); ++i) {
    const uint64_t bytes = stripes[i].padded_bytes();
    if (stripes[i].offset + bytes > file.size()) {
      Tell(options_.notice, fmt::format("{}: expected {} bytes as journalled, got {}", file.path(),
                                        all, file.size()));
      return i;
    }
    if (buffer.size() < bytes) buffer.resize(bytes);
    const std::span<char> padded = std::span(buffer).first(bytes);
    PENSTOCK_TRY_VOID(file.ReadAt(stripes[i].offset, padded));
    if (const Status whole = VerifyStripe(std::as_bytes(padded), manifest_, i); !whole) {
      Tell(options_.notice,
           fmt::format("{}; it is packed again, with those behind it", whole.error().message));
      return i;
    }
    if (options_.on_check && !options_.on_check(stripes[i].offset + bytes, all)) {
      return Cancelled("stopped by a signal");
    }
  }
  return stripes.size();
}

Status PackWriter::Append(const EncodedStripe& encoded) {
  PENSTOCK_CHECK(!finished_ && next() < planned());
  if (failed_) return Failed(fmt::format("{}: writing has failed before", place_.directory()));
  const PlannedStripe& planned = plan_[next()];
  const size_t index = next();
  const Stripe stripe = {.tensor = planned.tensor,
                         .codec = encoded.codec,
                         .first = planned.first,
                         .elements = planned.elements,
                         .raw_bytes = planned.elements * ElementWidth(encoded.element),
                         .offset = manifest_.file_bytes,
                         .stored_bytes = encoded.stored.size(),
                         .stored_sum = encoded.stored_sum,
                         .raw_sum = encoded.raw_sum};
  manifest_.stripes.push_back(stripe);
  const auto view = StripeView::Parse(encoded.stored, manifest_, index);
  const Status written = view ? Write(stripe, encoded.stored) : Status(view.error());
  if (!written) {
    manifest_.stripes.pop_back();
    if (written.error().code == ErrorCode::kUnsound) return written;
    return Stopped(written.error());
  }
  manifest_.file_bytes += stripe.padded_bytes();
  const Stripe& unsynced = manifest_.stripes[journalled_];
  if (manifest_.file_bytes - unsynced.offset < options_.sync_bytes &&
      Clock::now() - synced_ < options_.sync_interval) {
    return {};
  }
  return Flush();
}

Status PackWriter::Write(const Stripe& stripe, std::span<const std::byte> stored) {
  static constexpr std::array<std::byte, kStripeAlignment> kZeros = {};
  PENSTOCK_TRY_VOID(stripes_.WriteAt(stripe.offset, stored));
  return stripes_.WriteAt(stripe.offset + stripe.stored_bytes,
                          std::span(kZeros).first(stripe.padded_bytes() - stripe.stored_bytes));
}

Status PackWriter::Flush() {
  if (failed_) return Failed(fmt::format("{}: writing has failed before", place_.directory()));
  synced_ = Clock::now();
  if (journalled_ == manifest_.stripes.size()) return {};
  if (const Status written = WriteJournal(); !written) return Stopped(written.error());
  return {};
}

Status PackWriter::WriteJournal() {
  const uint64_t begin = manifest_.stripes[journalled_].offset;
  if (const Status synced = stripes_.Sync(); !synced) {
    sync_failed_ = true;
    return synced;
  }
  std::string lines;
  for (size_t i = journalled_; i < manifest_.stripes.size(); ++i) {
    lines += JournalLine(manifest_.stripes[i]);
  }
  PENSTOCK_TRY_VOID(journal_.WriteAt(journal_bytes_, lines));
  PENSTOCK_TRY_VOID(journal_.Sync());
  journal_bytes_ += lines.size();
  journalled_ = manifest_.stripes.size();
  stripes_.DropCache(begin, manifest_.file_bytes - begin);
  return {};
}

// Leaves as much as can be gone on with, and says how much that is.
Error PackWriter::Stopped(const Error& cause) {
  failed_ = true;
  // What was cut off gives the journal the room it needs.
  static_cast<void>(stripes_.Truncate(manifest_.file_bytes));
  // A device that has failed to keep bytes says so once: what it answers afterwards is not believed.
  if (!sync_failed_ && journalled_ < manifest_.stripes.size() && !WriteJournal()) {
    static_cast<void>(journal_.Truncate(journal_bytes_));
  }
  const uint64_t kept = journalled_ < manifest_.stripes.size()
                            ? manifest_.stripes[journalled_].offset
                            : manifest_.file_bytes;
  return Failed(fmt::format("{}; {} of {} stripes ({} bytes) are written and kept: {}'penstock "
                            "pack' with the same options goes on from there",
                            cause.message, journalled_, plan_.size(), kept,
                            IsFull(cause.sys) ? "make room, then " : ""),
                cause.sys);
}

Status PackWriter::Finish() {
  PENSTOCK_CHECK(!finished_ && next() == planned());
  PENSTOCK_TRY_VOID(Flush());
  if (const Status published = Publish(); !published) return Stopped(published.error());
  finished_ = true;
  ::unlink(place_.Path(kJournalName).c_str());
  return place_.Sync();
}

// The names in such an order that what is there at any moment can be gone on with.
Status PackWriter::Publish() {
  PENSTOCK_TRY_VOID(stripes_.Sync());
  const std::string partial = place_.Path(kPartialManifestName);
  PENSTOCK_TRY(OutputFile manifest, OutputFile::Open(partial));
  PENSTOCK_TRY_VOID(manifest.Truncate(0));
  PENSTOCK_TRY_VOID(manifest.WriteAt(0, manifest_.ToJson()));
  PENSTOCK_TRY_VOID(manifest.Sync());
  PENSTOCK_TRY_VOID(RenameFile(manifest_.stripes_path, place_.Path(kStripesName)));
  PENSTOCK_TRY_VOID(place_.Sync());
  PENSTOCK_TRY_VOID(RenameFile(partial, place_.Path(kManifestName)));
  return place_.Sync();
}

}  // namespace penstock::io
