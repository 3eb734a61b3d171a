#include "models/k3/bench/positions/texts.h"

#include <algorithm>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "runtime/options/list.h"

namespace penstock::k3 {
namespace {

constexpr size_t kFewIds = 4;

std::vector<text::TokenId> FewIds(size_t count, size_t vocab, unsigned seed) {
  std::mt19937 random(seed);
  const std::vector<text::TokenId> few = RandomIds(kFewIds, vocab, seed);
  std::vector<text::TokenId> ids(count);
  for (text::TokenId& id : ids) id = few[random() % kFewIds];
  return ids;
}

}  // namespace

std::vector<text::TokenId> RandomIds(size_t count, size_t vocab, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<text::TokenId> ids(count);
  for (text::TokenId& id : ids) id = static_cast<text::TokenId>(random() % vocab);
  return ids;
}

Result<std::vector<ForcedText>> MakeTexts(const std::string& names, size_t tokens, size_t vocab) {
  std::vector<ForcedText> texts;
  for (const std::string& name : SplitAtCommas(names)) {
    ForcedText text{name, {}, {}};
    if (name == "repeating") {
      text.prompt = text.ids = RandomIds(tokens, vocab, 1);
    } else if (name == "random") {
      text.prompt = RandomIds(tokens, vocab, 2);
      text.ids = RandomIds(tokens, vocab, 3);
    } else if (name == "misleading") {
      std::vector<text::TokenId> both = FewIds(2 * tokens, vocab, 4);
      text.prompt.assign(both.begin(), both.begin() + static_cast<ptrdiff_t>(tokens));
      text.ids.assign(both.begin() + static_cast<ptrdiff_t>(tokens), both.end());
    } else {
      return Refused(fmt::format(
          "--texts \"{}\": expected some of repeating,random,misleading, got \"{}\"", names, name));
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace penstock::k3
