#include "text/phrases.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

namespace sthash::text {

// Finds the longest phrase that a text begins with. Nodes are numbered; the edges from a node are in one hash table.
class PhraseTrie {
 public:
    struct Found {
        uint32_t number;
        size_t length;  // 0 if there is none
    };

    PhraseTrie() : keys_(1 << 12), children_(1 << 12), number_(1, kNone) {}

    void add(std::string_view phrase, uint32_t number) {
        uint32_t node = 0;
        for (const char byte : phrase) node = child_of(node, byte);
        if (number_[node] == kNone) number_[node] = number;
    }

    Found longest(std::string_view text) const {
        Found found{0, 0};
        uint32_t node = 0;
        const size_t most = std::min(text.size(), Phrases::kLongest);
        for (size_t at = 0; at < most; ++at) {
            node = children_[slot_of(key_of(node, text[at]))];
            if (node == 0) break;
            if (number_[node] != kNone) found = {number_[node], at + 1};
        }
        return found;
    }

 private:
    static constexpr uint32_t kNone = ~uint32_t{0};

    static uint64_t key_of(uint32_t node, char byte) {
        return (uint64_t{node} << 8 | static_cast<uint8_t>(byte)) + 1;  // 0 is a free slot
    }

    // The slot of a key, or the free one where it belongs, whose child is 0.
    size_t slot_of(uint64_t key) const {
        const uint64_t product = key * 0x9E3779B97F4A7C15ull;
        size_t slot = (product ^ product >> 29) & (keys_.size() - 1);
        while (keys_[slot] != key && keys_[slot] != 0) slot = (slot + 1) & (keys_.size() - 1);
        return slot;
    }

    uint32_t child_of(uint32_t node, char byte) {
        const uint64_t key = key_of(node, byte);
        size_t slot = slot_of(key);
        if (keys_[slot] == 0) {
            if (2 * number_.size() > keys_.size()) {
                grow();
                slot = slot_of(key);
            }
            keys_[slot] = key;
            children_[slot] = static_cast<uint32_t>(number_.size());
            number_.push_back(kNone);
        }
        return children_[slot];
    }

    void grow() {
        const std::vector<uint64_t> keys = std::move(keys_);
        const std::vector<uint32_t> children = std::move(children_);
        keys_.assign(2 * keys.size(), 0);
        children_.assign(2 * keys.size(), 0);
        for (size_t slot = 0; slot < keys.size(); ++slot) {
            if (keys[slot] == 0) continue;
            const size_t place = slot_of(keys[slot]);
            keys_[place] = keys[slot];
            children_[place] = children[slot];
        }
    }

    std::vector<uint64_t> keys_;
    std::vector<uint32_t> children_;
    std::vector<uint32_t> number_;  // of the phrase that ends at a node
};

namespace {

using Texts = std::vector<std::string_view>;

// Phrases while they are learned: the 256 bytes, and behind them what was made of them.
struct Candidates {
    Candidates() {
        for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
    }

    void add(std::string phrase) {
        trie.add(phrase, static_cast<uint32_t>(phrases.size()));
        phrases.push_back(std::move(phrase));
    }

    // Calls visit(number, length) for the phrases that a text is cut into.
    template <class Visit>
    void cut(std::string_view text, Visit&& visit) const {
        while (!text.empty()) {
            const PhraseTrie::Found found = trie.longest(text);
            text.remove_prefix(found.length);
            visit(found.number);
        }
    }

    std::vector<uint64_t> counts(const Texts& texts) const {
        std::vector<uint64_t> counts(phrases.size());
        for (const std::string_view text : texts) cut(text, [&](uint32_t number) { ++counts[number]; });
        return counts;
    }

    PhraseTrie trie;
    std::vector<std::string> phrases;
};

// Two neighbors that stand together often enough become one phrase, while the texts are read (F. Gargiulo, R.
// Venturini, "OnPair: Short Strings Compression for Fast Random Access", 2025).
Candidates joined(const Texts& texts, uint32_t often) {
    constexpr uint32_t kNone = ~uint32_t{0};
    Candidates made;
    std::unordered_map<uint64_t, uint32_t> together;
    for (const std::string_view text : texts) {
        if (made.phrases.size() >= 3 * Phrases::kMost) break;
        uint32_t before = kNone;
        made.cut(text, [&](uint32_t number) {
            const size_t length = made.phrases[number].size();
            if (before != kNone && made.phrases[before].size() + length <= Phrases::kLongest) {
                const uint64_t pair = uint64_t{before} << 32 | number;
                if (++together[pair] >= often) {
                    together.erase(pair);
                    made.add(made.phrases[before] + made.phrases[number]);
                    before = static_cast<uint32_t>(made.phrases.size() - 1);
                    return;
                }
            }
            before = number;
        });
    }
    return made;
}

// Keeps the phrases that save the most bytes, and more than they take themselves.
Candidates pruned(const Candidates& all, const Texts& texts) {
    const std::vector<uint64_t> counts = all.counts(texts);
    const auto saved = [&](uint32_t number) { return counts[number] * (all.phrases[number].size() - 1); };
    std::vector<uint32_t> kept;
    for (uint32_t number = 256; number < all.phrases.size(); ++number)
        if (saved(number) > 2 * all.phrases[number].size()) kept.push_back(number);
    std::stable_sort(kept.begin(), kept.end(), [&](uint32_t a, uint32_t b) { return saved(a) > saved(b); });
    kept.resize(std::min(kept.size(), Phrases::kMost - 256));
    Candidates fewer;
    for (const uint32_t number : kept) fewer.add(all.phrases[number]);
    return fewer;
}

}  // namespace

std::vector<std::string> Phrases::learn(const std::vector<std::string_view>& texts) {
    size_t size = 0;
    for (const std::string_view text : texts) size += text.size();
    // Of few texts, pairs must count that are seen a few times; of many, they would be too many.
    Candidates found = joined(texts, static_cast<uint32_t>(2 + (size >> 20)));
    for (int round = 0; round < 2; ++round) found = pruned(found, texts);
    const std::vector<uint64_t> counts = found.counts(texts);
    std::vector<uint32_t> order(counts.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return counts[a] > counts[b]; });
    std::vector<std::string> phrases;
    for (const uint32_t number : order) phrases.push_back(found.phrases[number]);
    return phrases;
}

std::string Phrases::content_of(const std::vector<std::string>& phrases) {
    std::string content;
    for (const std::string& phrase : phrases) {
        content.push_back(static_cast<char>(phrase.size()));
        content += phrase;
    }
    return content;
}

Phrases::Phrases(std::string_view content) {
    std::array<bool, 256> single{};
    while (!content.empty()) {
        const auto length = static_cast<uint8_t>(content.front());
        if (length == 0 || length > kLongest || length >= content.size())
            throw std::invalid_argument("a phrase has the wrong length");
        if (length == 1) single[static_cast<uint8_t>(content[1])] = true;
        bytes_.append(content.substr(1, length));
        ends_.push_back(static_cast<uint32_t>(bytes_.size()));
        content.remove_prefix(size_t{1} + length);
        if (ends_.size() > kMost) throw std::invalid_argument("there are too many phrases");
    }
    if (!std::all_of(single.begin(), single.end(), [](bool held) { return held; }))
        throw std::invalid_argument("a single byte is missing");
}

Phrases::~Phrases() = default;

void Phrases::pack(std::string_view text, std::string& packed) const {
    std::call_once(made_, [&] {
        trie_ = std::make_unique<PhraseTrie>();
        for (size_t number = 0; number < size(); ++number) trie_->add(phrase(number), static_cast<uint32_t>(number));
    });
    while (!text.empty()) {
        const PhraseTrie::Found found = trie_->longest(text);
        text.remove_prefix(found.length);
        if (found.number < kShort) {
            packed.push_back(static_cast<char>(found.number));
        } else {
            const size_t rest = found.number - kShort;
            packed.push_back(static_cast<char>(kShort + rest / 256));
            packed.push_back(static_cast<char>(rest % 256));
        }
    }
}

template <class Visit>
void Phrases::each(std::string_view packed, Visit&& visit) const {
    for (size_t at = 0; at < packed.size();) {
        size_t number = static_cast<uint8_t>(packed[at++]);
        if (number >= kShort) {
            if (at == packed.size()) throw std::invalid_argument("a text ends within a phrase");
            number = kShort + (number - kShort) * 256 + static_cast<uint8_t>(packed[at++]);
        }
        if (number >= size()) throw std::invalid_argument("a phrase does not exist");
        visit(phrase(number));
    }
}

size_t Phrases::size_of(std::string_view packed) const {
    size_t size = 0;
    each(packed, [&](std::string_view phrase) { size += phrase.size(); });
    return size;
}

void Phrases::unpack(std::string_view packed, char* text) const {
    each(packed, [&](std::string_view phrase) { text = std::copy(phrase.begin(), phrase.end(), text); });
}

}  // namespace sthash::text
