#pragma once

#include "models/k3/bench/token/token.h"

namespace penstock::k3 {

// BenchToken with --predicting.
Result<TokenResult> BenchPredicting(const TokenBenchOptions& options,
                                    const PipelineOptions& pipeline,
                                    const io::IoOptions& io_options, const BenchHooks& hooks);

}  // namespace penstock::k3
