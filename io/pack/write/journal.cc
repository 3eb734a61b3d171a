#include "io/pack/write/journal.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "io/pack/entry.h"
#include "io/safetensors/names.h"

namespace penstock::io {
namespace {

Status ParseHead(std::string_view line, std::string_view file, Journal& journal) {
  std::vector<JsonField> fields = {ConstantField("schema", file, kJournalSchema)};
  ParameterFields(file, journal.parameters, fields);
  fields.push_back(TensorsField(file, journal.tensors));
  fields.push_back(ListField("plan", file, [&](JsonValue& value, size_t index) {
    return ReadPlannedStripe(value, file, index, journal.plan.emplace_back());
  }));
  PENSTOCK_TRY_VOID(ReadDocument(line, file, fields));
  PENSTOCK_TRY_VOID(CheckParameters(journal.parameters, file));
  PENSTOCK_TRY_VOID(CheckTensors(journal.tensors, file));
  CoverCheck cover(journal.tensors, file);
  for (const PlannedStripe& stripe : journal.plan) PENSTOCK_TRY_VOID(cover.Next(stripe));
  return cover.End();
}

// A line without its newline; nothing when it is not what JournalLine writes.
std::optional<Stripe> ParseLine(std::string_view line) {
  constexpr size_t kSumBytes = 20;  // ,"0123456789abcdef"]
  if (line.size() < kSumBytes) return std::nullopt;
  const std::string_view entry = line.substr(0, line.size() - kSumBytes);
  const auto sum = ParseSum(line.substr(entry.size() + 2, 16));
  if (!sum || *sum != SumOf(std::as_bytes(std::span(entry)))) return std::nullopt;
  Stripe stripe;
  const std::array fields = {
      JsonField{"s", [&](JsonValue& value) { return ReadStripe(value, "", 0, stripe); }}};
  if (!ReadDocument(fmt::format("{{\"s\":{}]}}", entry), "", fields)) return std::nullopt;
  if (JournalLine(stripe) != fmt::format("{}\n", line)) return std::nullopt;
  return stripe;
}

// Whether the stripe is the next of the plan and lies where the one before ends.
bool Continues(const Journal& journal, const Stripe& stripe) {
  if (journal.stripes.size() == journal.plan.size()) return false;
  const uint64_t offset = journal.stripes.empty() ? 0
                                                  : journal.stripes.back().offset +
                                                        journal.stripes.back().padded_bytes();
  return journal.plan[journal.stripes.size()] == stripe.planned() && stripe.offset == offset &&
         stripe.stored_bytes <= kMaxStripeStoredBytes;
}

void AppendPlan(const std::vector<PlannedStripe>& plan, std::string& out) {
  out += ",\"plan\":[";
  for (size_t i = 0; i < plan.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "{}[{},{},{}]", i == 0 ? "" : ",", plan[i].tensor,
                   plan[i].first, plan[i].elements);
  }
  out += "]";
}

std::string TextOf(const PackTensor& tensor) {
  return fmt::format("{} with {} elements of kind {}", Quoted(tensor.name), tensor.elements,
                     tensor.element);
}

std::string TextOf(const PlannedStripe& stripe) {
  return fmt::format("{} elements of tensor {} from {}", stripe.elements, stripe.tensor,
                     stripe.first);
}

std::string TextOf(const std::pair<const std::string, std::string>& parameter) {
  return Quoted(parameter.first + "=" + parameter.second);
}

template <class Range>
std::string TextAt(const Range& range, typename Range::const_iterator at) {
  return at == range.end() ? "none" : TextOf(*at);
}

}  // namespace

std::string JournalHead(const PackParameters& parameters, const std::vector<PackTensor>& tensors,
                        const std::vector<PlannedStripe>& plan) {
  std::string out = fmt::format("{{\"schema\":\"{}\",", kJournalSchema);
  AppendParameters(parameters, out);
  AppendTensors(tensors, out);
  AppendPlan(plan, out);
  std::erase(out, '\n');  // Only between tokens: in strings they are escaped.
  return out + "}\n";
}

std::string JournalLine(const Stripe& stripe) {
  std::string out;
  AppendStripe(stripe, out);
  const uint64_t sum = SumOf(std::as_bytes(std::span(out)));
  return fmt::format("{},\"{}\"]\n", out, SumText(sum));
}

Result<Journal> ParseJournal(std::string_view text, std::string_view file) {
  Journal journal;
  size_t at = text.find('\n');
  if (at == std::string_view::npos) return journal;
  PENSTOCK_TRY_VOID(ParseHead(text.substr(0, at), file, journal));
  journal.head_bytes = ++at;
  for (;;) {
    const size_t end = text.find('\n', at);
    if (end == std::string_view::npos) return journal;
    std::optional<Stripe> stripe = ParseLine(text.substr(at, end - at));
    if (!stripe || !Continues(journal, *stripe)) return journal;
    stripe->raw_bytes = stripe->elements * ElementWidth(journal.tensors[stripe->tensor].element);
    journal.stripes.push_back(*stripe);
    at = end + 1;
    journal.ends.push_back(at);
  }
}

Status CheckSamePack(const Journal& begun, const PackParameters& parameters,
                     const std::vector<PackTensor>& tensors, const std::vector<PlannedStripe>& plan,
                     std::string_view directory) {
  const auto differ = [&](std::string_view what, std::string_view before, std::string_view now) {
    return Refused(
        fmt::format("{} holds a pack that was begun with another {}: {}, now {} is asked for; pack "
                    "with that, or into another directory",
                    directory, what, before, now));
  };
  const PackParameters& was = begun.parameters;
  const PackParameters& is = parameters;
  if (was.identity != is.identity) return differ("source identity", was.identity, is.identity);
  if (was.kind != is.kind) return differ("kind", was.kind, is.kind);
  if (was.source != is.source) {
    return differ("source name", Quoted(was.source), Quoted(is.source));
  }
  if (was.codec != is.codec) return differ("codec", was.codec, is.codec);
  if (was.stripe_bytes != is.stripe_bytes) {
    return differ("size of stripes", fmt::format("{} bytes", was.stripe_bytes),
                  fmt::format("{} bytes", is.stripe_bytes));
  }
  if (was.program != is.program) {
    return differ("program", Quoted(was.program), Quoted(is.program));
  }
  const auto compare = [&](std::string_view what, const auto& before, const auto& now) -> Status {
    const auto [b, n] = std::mismatch(before.begin(), before.end(), now.begin(), now.end());
    if (b == before.end() && n == now.end()) return {};
    return differ(fmt::format("{} {}", what, std::distance(before.begin(), b)), TextAt(before, b),
                  TextAt(now, n));
  };
  PENSTOCK_TRY_VOID(compare("parameter", was.extra, is.extra));
  PENSTOCK_TRY_VOID(compare("tensor", begun.tensors, tensors));
  return compare("stripe", begun.plan, plan);
}

}  // namespace penstock::io
