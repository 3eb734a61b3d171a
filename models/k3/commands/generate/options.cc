#include "models/k3/commands/generate/options.h"

namespace penstock::k3 {

OptionSet GenerateSettings::Rows() {
  OptionSet rows;
  rows.Add("run", run);
  rows.Add("generate", generate);
  rows.Add("draft", draft);
  rows.Add("sampling", sampling);
  rows.Add("state", state);
  rows.Add("pipeline", pipeline);
  rows.Add("io", io);
  return rows;
}

}  // namespace penstock::k3
