#include "hamming/collect.hpp"

#include <algorithm>

namespace sthash::hamming {

Collector::Collector(Task task, size_t k, int radius, int n_bits)
    : task_(task), k_(k), limit_(std::min(radius, n_bits)), sweep_at_(std::max<size_t>(256, k < kMany ? 4 * k : k)) {
    if (task == Task::nearest) histogram_.resize(static_cast<size_t>(limit_) + 1);
}

void Collector::push(int64_t id, int distance) {
    if (distance > limit_) return;
    ++count_;
    if (task_ == Task::count) return;
    if (hits_.empty()) hits_.reserve(16);
    hits_.push_back({id, distance});
    if (task_ == Task::radius) {
        if (hits_.size() > most_) {
            limit_ = -1;
            hits_.clear();
        }
        return;
    }
    ++histogram_[distance];
    ++held_;
    tighten();
    if (hits_.size() >= sweep_at_) sweep();
}

void Collector::merge(const Collector& other) {
    if (other.gave_up()) limit_ = -1;
    if (task_ == Task::count) count_ += other.count_;
    for (const Hit& hit : other.hits_) push(hit.id, hit.distance);
}

void Collector::restart() {
    hits_.clear();
    std::fill(histogram_.begin(), histogram_.end(), 0);
    held_ = 0;
    count_ = 0;
}

std::vector<Hit>& Collector::finish() {
    if (task_ == Task::nearest) {
        std::erase_if(hits_, [this](const Hit& hit) { return hit.distance > limit_; });
        if (hits_.size() > k_) {
            std::nth_element(hits_.begin(), hits_.begin() + static_cast<ptrdiff_t>(k_), hits_.end());
            hits_.resize(k_);
        }
    }
    std::sort(hits_.begin(), hits_.end());
    return hits_;
}

void Collector::tighten() {
    while (held_ - histogram_[limit_] >= k_) held_ -= histogram_[limit_--];
}

void Collector::sweep() {
    std::erase_if(hits_, [this](const Hit& hit) { return hit.distance > limit_; });
    if (hits_.size() > k_ && 2 * hits_.size() > sweep_at_) {  // ties at the limit: the smallest ids win
        std::nth_element(hits_.begin(), hits_.begin() + static_cast<ptrdiff_t>(k_), hits_.end());
        histogram_[limit_] -= static_cast<uint32_t>(hits_.size() - k_);
        hits_.resize(k_);
        held_ = k_;
    }
}

}  // namespace sthash::hamming
