#include "io/queue/scheduler.h"

#include "runtime/check.h"

namespace penstock::io {

Scheduler::Scheduler(uint64_t window_bytes, uint32_t device_count)
    : window_bytes_(window_bytes), devices_(device_count) {}

void Scheduler::Queue(const Ticket& ticket, ReadClass read_class) {
  PENSTOCK_CHECK(ticket.device < devices_.size());
  const Place place{read_class, next_arrival_++};
  const bool is_new = places_.emplace(ticket.id, Waiting{ticket.device, place}).second;
  PENSTOCK_CHECK(is_new && !submitted_.contains(ticket.id));
  devices_[ticket.device].queue.emplace(place, ticket);
}

bool Scheduler::Admits(const Device& device, ReadClass read_class, uint64_t bytes) const {
  if (read_class == ReadClass::kDemanded || device.window_reads < 2) return true;
  return device.window_bytes <= window_bytes_ && bytes <= window_bytes_ - device.window_bytes;
}

std::optional<Ticket> Scheduler::Next() {
  for (Device& device : devices_) {
    if (device.queue.empty()) continue;
    const auto head = device.queue.begin();
    const ReadClass read_class = head->first.read_class;
    const Ticket ticket = head->second;
    if (!Admits(device, read_class, ticket.bytes)) continue;
    const bool in_window = read_class != ReadClass::kDemanded;
    if (in_window) {
      ++device.window_reads;
      device.window_bytes += ticket.bytes;
    }
    device.queue.erase(head);
    places_.erase(ticket.id);
    submitted_.emplace(ticket.id, Submitted{ticket, in_window});
    return ticket;
  }
  return std::nullopt;
}

void Scheduler::Complete(uint64_t id) {
  const auto found = submitted_.find(id);
  PENSTOCK_CHECK(found != submitted_.end());
  if (found->second.in_window) {
    Device& device = devices_[found->second.ticket.device];
    --device.window_reads;
    device.window_bytes -= found->second.ticket.bytes;
  }
  submitted_.erase(found);
}

bool Scheduler::Raise(uint64_t id, ReadClass read_class) {
  const auto found = places_.find(id);
  if (found == places_.end() || found->second.place.read_class <= read_class) return false;
  auto& queue = devices_[found->second.device].queue;
  auto node = queue.extract(found->second.place);
  found->second.place = {read_class, next_arrival_++};
  node.key() = found->second.place;
  queue.insert(std::move(node));
  return true;
}

bool Scheduler::Cancel(uint64_t id) {
  const auto found = places_.find(id);
  if (found == places_.end()) return false;
  devices_[found->second.device].queue.erase(found->second.place);
  places_.erase(found);
  return true;
}

}  // namespace penstock::io
