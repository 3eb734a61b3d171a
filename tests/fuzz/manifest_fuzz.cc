// The manifest of a pack, and its journal. What is accepted must keep the promises that readers of
// stripes rely on: sizes and positions do not overflow, lie inside of the file and cover the tensors.
// covers: io/pack/parse io/pack/manifest io/pack/entry io/pack/strict_json io/pack/write/journal

#include <cstdint>
#include <string>
#include <string_view>

#include "io/pack.h"
#include "io/pack/write/journal.h"
#include "runtime/check.h"

namespace {

using namespace penstock::io;

void CheckManifest(const PackManifest& manifest) {
  uint64_t at = 0;
  std::vector<uint64_t> covered(manifest.tensors.size());
  for (size_t i = 0; i < manifest.stripes.size(); ++i) {
    const Stripe& stripe = manifest.stripes[i];
    PENSTOCK_CHECK(stripe.codec < kCodecs && stripe.tensor < covered.size());
    PENSTOCK_CHECK(stripe.offset == at && stripe.stored_bytes <= manifest.file_bytes - at);
    PENSTOCK_CHECK(stripe.elements > 0 && stripe.first == covered[stripe.tensor]);
    PENSTOCK_CHECK(stripe.raw_bytes > 0 && stripe.raw_bytes <= kMaxStripeRawBytes);
    PENSTOCK_CHECK(!manifest.StripeName(i).empty());
    covered[stripe.tensor] += stripe.elements;
    at += stripe.padded_bytes();
  }
  PENSTOCK_CHECK(at == manifest.file_bytes);
  for (size_t i = 0; i < covered.size(); ++i) {
    PENSTOCK_CHECK(covered[i] == manifest.tensors[i].elements);
  }
  const auto again = PackManifest::Parse(manifest.ToJson(), "again.json");
  PENSTOCK_CHECK(again && again->ToJson() == manifest.ToJson());
}

void CheckJournal(const Journal& journal, std::string_view text) {
  PENSTOCK_CHECK(journal.stripes.size() <= journal.plan.size());
  PENSTOCK_CHECK(journal.ends.size() == journal.stripes.size());
  uint64_t at = journal.head_bytes;
  for (size_t i = 0; i < journal.stripes.size(); ++i) {
    PENSTOCK_CHECK(text.substr(at, journal.ends[i] - at) == JournalLine(journal.stripes[i]));
    at = journal.ends[i];
  }
  PENSTOCK_CHECK(at <= text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto manifest = PackManifest::Parse(text, "fuzz.json");
  if (manifest) {
    CheckManifest(*manifest);
  } else {
    PENSTOCK_CHECK(!manifest.error().message.empty());
  }
  const auto journal = ParseJournal(text, "fuzz.jsonl");
  if (journal) CheckJournal(*journal, text);
  return 0;
}
