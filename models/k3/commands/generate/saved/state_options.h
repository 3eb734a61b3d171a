#pragma once

#include <cstddef>
#include <string>

namespace penstock::k3 {

// What of a run outlives it, and what it goes on from.
struct StateOptions {
  std::string save_state;
  size_t checkpoint_every = 0;
  std::string load_state;
  bool resume = false;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("save-state", c.save_state,
      "Writes the state of the sequence here when the run ends, also when a signal ended it; what "
      "was there stays until the new file is whole.");
    v("checkpoint-every", c.checkpoint_every, "tokens", size_t{0}, size_t{1} << 40,
      "Writes the file of --save-state after every so many tokens too; 0: only at the end.");
    v("load-state", c.load_state,
      "Goes on from a saved state: what it has not consumed yet, then the prompt, which may be "
      "left out. -c counts all positions.");
    v("resume", c.resume,
      "Goes on with the run that wrote the file of --save-state, from the same prompt and "
      "sampling; without that file from the beginning. -n counts the tokens of the whole run, and "
      "its ids come out again; --logits has the rows that are computed now.");
  }
};

}  // namespace penstock::k3
