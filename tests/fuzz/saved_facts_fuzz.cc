// The facts of a saved state. Those that are accepted fit together, and are written as they were read.
// covers: models/k3/state/saved_facts

#include <cstdint>
#include <string>

#include "models/k3/state/saved_facts.h"
#include "runtime/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace penstock::k3;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto facts = ParseFacts(text, "fuzz.state");
  if (!facts) {
    PENSTOCK_CHECK(!facts.error().message.empty());
    return 0;
  }
  const SavedSequence& sequence = facts->sequence;
  PENSTOCK_CHECK(facts->position > 0 && facts->position <= sequence.ids.size());
  PENSTOCK_CHECK(sequence.prompt > 0 && sequence.prompt <= sequence.ids.size());
  PENSTOCK_CHECK(sequence.log_probabilities.empty() ||
                 sequence.log_probabilities.size() == sequence.ids.size() - sequence.prompt);
  PENSTOCK_CHECK(FormatFacts(*facts) == text);
  return 0;
}
