// The two files of a tokenizer, a NUL byte between them; without one the input is the ranks, and
// with nothing before it the specials of a good rank file. What is accepted must be one to one.

#include <cstdint>
#include <string>
#include <string_view>

#include "models/text/encoding/vocabulary.h"
#include "runtime/check.h"
#include "tests/models/text/encoding/ranks_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using penstock::text::TokenId;
  using penstock::text::Vocabulary;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = input.find('\0');
  std::string ranks(input.substr(0, cut));
  if (cut == 0) ranks = penstock::text::RanksFile({"th", "the"});
  const std::string config(cut == input.npos ? R"({"added_tokens_decoder": {}})"
                                             : input.substr(cut + 1));
  for (const size_t vocab_size : {size_t{514}, SIZE_MAX}) {
    const auto vocabulary = Vocabulary::Parse({"ranks", ranks}, {"config", config}, vocab_size);
    if (!vocabulary) {
      PENSTOCK_CHECK(vocabulary.error().code == penstock::ErrorCode::kRefused);
      PENSTOCK_CHECK(!vocabulary.error().message.empty());
      continue;
    }
    PENSTOCK_CHECK(vocabulary->size() <= vocab_size);
    for (TokenId id = 0; id < vocabulary->size(); ++id) {
      const std::string bytes = vocabulary->Bytes(id);
      PENSTOCK_CHECK(!bytes.empty());
      const auto found =
          vocabulary->IsSpecial(id) ? vocabulary->FindSpecial(bytes) : vocabulary->FindRank(bytes);
      PENSTOCK_CHECK(found == id);
    }
  }
  return 0;
}
