#pragma once

#include <vector>

#include <benchmark/benchmark.h>

#include "ops/isa.h"

namespace penstock::bench {

// Every record that this machine runs.
inline std::vector<const ops::Kernels*> Records() { return ops::KernelsHere(); }

// Registers `run(state, kernels)` as BM_<name>/<isa> for every record; `arguments` adds the rest.
template <class Run, class Arguments>
bool RegisterForRecords(const char* name, Run run, Arguments arguments) {
  for (const ops::Kernels* kernels : Records()) {
    const std::string full = std::string(name) + "/" + kernels->name;
    arguments(benchmark::RegisterBenchmark(full.c_str(),
                                           [=](benchmark::State& state) { run(state, *kernels); }));
  }
  return true;
}

template <class Run>
bool RegisterForRecords(const char* name, Run run) {
  return RegisterForRecords(name, run, [](benchmark::internal::Benchmark*) {});
}

}  // namespace penstock::bench
