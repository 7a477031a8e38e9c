#include "join/repeats.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "keyed_hash.hpp"
#include "text/characters.hpp"
#include "text/words_of.hpp"

namespace sthash::join {

namespace {

using text::Characters;
using text::TextView;

// A line counts as the beginning or end of a text among so many, and belongs to a template with so many words.
constexpr size_t kMargin = 8, kLeastLineWords = 4, kLeastLines = 3;
constexpr uint64_t kBase = 0x9FB21C651E98DF25ull, kLineSalt = 0xD6E8FEB86659FD93ull;

struct Segment {
    size_t start;       // characters
    size_t first_word;  // of the text
    bool begins_line;
};

bool ends_sentence(uint32_t code) {
    return code == '.' || code == '!' || code == '?' || code == 0x2026 || code == 0x061F || code == 0x06D4 ||
           code == 0x0964 || code == 0x0965;
}

// Signs after which no space is needed.
bool ends_unspaced(uint32_t code) {
    return code == 0x3002 || code == 0xFF01 || code == 0xFF1F || code == 0xFF61;
}

bool closes(uint32_t code) {
    return code == '"' || code == '\'' || code == ')' || code == ']' || code == 0x00BB || code == 0x2019 ||
           code == 0x201D || code == 0x300D || code == 0x300F || code == 0xFF09;
}

bool is_space(uint32_t code) {
    return code == ' ' || (code >= '\t' && code <= '\r') || code == 0x85 || code == 0xA0 || code == 0x1680 ||
           (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F ||
           code == 0x3000;
}

bool ends_line(uint32_t code) {
    return code == '\n' || code == '\v' || code == '\f' || code == 0x85 || code == 0x2028 || code == 0x2029;
}

// The words of a text, as hashes, and where its sentences and lines begin.
class Words {
 public:
    void read(const TextView& text) {
        hashes.clear();
        segments.clear();
        length = text.length;
        if (text.width == 1)
            read(static_cast<const uint8_t*>(text.data));
        else if (text.width == 2)
            read(static_cast<const uint16_t*>(text.data));
        else
            read(static_cast<const uint32_t*>(text.data));
    }

    size_t n_segments() const { return segments.size(); }
    size_t words_before(size_t segment) const {
        return segment < segments.size() ? segments[segment].first_word : hashes.size();
    }
    size_t start_of(size_t segment) const { return segment < segments.size() ? segments[segment].start : length; }

    std::vector<uint64_t> hashes;
    std::vector<Segment> segments;
    size_t length = 0;

 private:
    template <class Char>
    void read(const Char* text) {
        const Characters& characters = Characters::instance();
        constexpr uint64_t kStart = 0xE7037ED1A0B428DBull;
        uint64_t word = kStart;
        bool inside = false, ended = false, pending = false;
        size_t line = 0;  // where the next line begins, if it is pending
        const auto flush = [&] {
            if (inside) hashes.push_back(folded_product(word, 0x8EBC6AF09C88C6E3ull));
            inside = false;
            word = kStart;
        };
        const auto begin_segment = [&](size_t at) {
            if (pending) segments.push_back({line != 0 ? line : at, hashes.size(), line != 0});
            pending = ended = false;
            line = 0;
        };
        if (length > 0) segments.push_back({0, 0, true});
        for (size_t at = 0; at < length; ++at) {
            const uint32_t code = text[at];
            uint32_t letter = 0;
            if (code < 128) {
                letter = static_cast<uint8_t>(text::kAsciiWord[code]);
            } else {
                const text::CharacterKind kind = characters.kind(code);
                if (kind == text::ignored) continue;
                if (kind == text::letter || (kind == text::mark && inside)) letter = characters.lower(code);
                if (kind == text::unspaced) {
                    flush();
                    begin_segment(at);
                    word = (word ^ code) * kBase;
                    inside = true;
                    flush();
                    continue;
                }
            }
            if (letter != 0) {
                if (!inside) begin_segment(at);
                word = (word ^ letter) * kBase;
                word ^= word >> 32;
                inside = true;
                continue;
            }
            flush();
            if (is_space(code)) {
                if (ends_line(code)) {
                    pending = true;
                    line = at + 1;
                } else if (ended) {
                    pending = true;
                }
            } else if (ends_unspaced(code)) {
                if (line != 0) begin_segment(at);
                ended = pending = true;
            } else if (ends_sentence(code)) {
                if (pending && !ended) begin_segment(at);
                if (line != 0) begin_segment(at);
                ended = true;
            } else if (!(ended && line == 0 && closes(code))) {
                begin_segment(at);
            }
        }
        flush();
    }
};

// A hash of each run of some words, by a polynomial that rolls along.
void hash_runs(const std::vector<uint64_t>& words, size_t size, std::vector<uint64_t>& hashes) {
    hashes.clear();
    if (words.size() < size) return;
    uint64_t power = 1, hash = 0;
    for (size_t i = 0; i < size; ++i) power *= kBase;
    for (size_t at = 0; at < words.size(); ++at) {
        hash = hash * kBase + words[at];
        if (at >= size) hash -= power * words[at - size];
        if (at + 1 >= size) hashes.push_back(folded_product(hash ^ size, 0xA0761D6478BD642Full));
    }
}

// Of each window the place of the run that stands for it: the smallest of `span` hashes, of equals the last.
void choose_smallest(const std::vector<uint64_t>& hashes, size_t span, std::vector<uint32_t>& places) {
    places.clear();
    size_t best = 0;
    for (size_t end = 0; end < hashes.size(); ++end) {
        const size_t first = end + 1 >= span ? end + 1 - span : 0;
        if (end == 0 || hashes[end] <= hashes[best]) {
            best = end;
        } else if (best < first) {
            best = first;
            for (size_t at = first + 1; at <= end; ++at)
                if (hashes[at] <= hashes[best]) best = at;
        }
        if (end + 1 >= span) places.push_back(static_cast<uint32_t>(best));
    }
}

// Calls use(first segment, segment after the last, hash) for the lines with words at the beginning and the end of a
// text, which has others.
template <class Use>
void for_each_margin_line(const Words& words, Use&& use) {
    std::vector<std::pair<size_t, size_t>> lines;
    for (size_t first = 0, end = 0; first < words.n_segments(); first = end) {
        for (end = first + 1; end < words.n_segments() && !words.segments[end].begins_line;) ++end;
        if (words.words_before(end) > words.words_before(first)) lines.emplace_back(first, end);
    }
    if (lines.size() < kLeastLines) return;
    for (size_t place = 0; place < lines.size(); ++place) {
        if (place >= kMargin && place + kMargin < lines.size()) continue;
        const auto [first, end] = lines[place];
        if (words.words_before(end) - words.words_before(first) < kLeastLineWords) continue;
        uint64_t hash = kLineSalt;
        for (size_t at = words.words_before(first); at < words.words_before(end); ++at)
            hash = folded_product(hash ^ words.hashes[at], kBase) + std::rotl(hash, 23);
        use(first, end, hash);
    }
}

// What a thread needs to read a text.
struct Reader {
    Words words;
    std::vector<uint64_t> runs, windows;
    std::vector<uint32_t> smallest;

    void read(const TextView& text, size_t size) {
        words.read(text);
        const size_t run = (size + 1) / 2;
        hash_runs(words.hashes, run, runs);
        choose_smallest(runs, size - run + 1, smallest);
    }
};

struct Candidate {
    uint64_t hash;
    uint32_t window, range;
};

constexpr size_t kGrain = 16;

}  // namespace

RepeatFinder::RepeatFinder(const RepeatSettings& settings)
    : settings_(settings), filter_(new std::atomic<uint64_t>[(size_t{2} << settings.filter_bits) / 64]()) {}

void RepeatFinder::note(uint64_t hash) {
    const size_t slot = hash >> (64 - settings_.filter_bits);
    std::atomic<uint64_t>& bits = filter_[slot / 32];
    const uint64_t met = uint64_t{1} << (2 * (slot % 32)), again = met << 1;
    const uint64_t before = bits.load(std::memory_order_relaxed);
    if ((before & again) != 0) return;
    if ((bits.fetch_or(met, std::memory_order_relaxed) & met) != 0) bits.fetch_or(again, std::memory_order_relaxed);
}

bool RepeatFinder::met_again(uint64_t hash) const {
    const size_t slot = hash >> (64 - settings_.filter_bits);
    return (filter_[slot / 32].load(std::memory_order_relaxed) >> (2 * (slot % 32)) & 2) != 0;
}

void RepeatFinder::look(const std::vector<TextView>& texts, int threads, StopFlag& stop) {
    parallel_for(texts.size(), kGrain, threads, stop, [&](size_t begin, size_t end, int) {
        Reader reader;
        std::vector<uint64_t> own;
        for (size_t i = begin; i < end; ++i) {
            reader.read(texts[i], settings_.words);
            own.clear();
            for (size_t window = 0; window < reader.smallest.size(); ++window)
                if (window == 0 || reader.smallest[window] != reader.smallest[window - 1])
                    own.push_back(folded_product(reader.runs[reader.smallest[window]], kBase));
            if (settings_.template_texts > 0)
                for_each_margin_line(reader.words, [&](size_t, size_t, uint64_t hash) { own.push_back(hash); });
            std::sort(own.begin(), own.end());
            own.erase(std::unique(own.begin(), own.end()), own.end());
            for (const uint64_t hash : own) note(hash);
        }
    });
}

RepeatFinder::Entry& RepeatFinder::entry_of(uint64_t hash) {
    const size_t mask = entries_.size() - 1;
    size_t at = folded_product(hash ^ kHashKey.start, kHashKey.factor) & mask;
    while (!entries_[at].is_free() && entries_[at].hash != hash) at = (at + 1) & mask;
    return entries_[at];
}

// Makes the table larger, or, if it must not be, the range of hashes smaller that this pass looks at.
void RepeatFinder::make_room() {
    if (3 * (n_entries_ + 1) <= 2 * entries_.size()) return;
    size_t size = 2 * entries_.size();
    if (size > settings_.most_entries && range_end_ - range_begin_ > 1) {
        range_end_ = range_begin_ + (range_end_ - range_begin_) / 2;
        size = entries_.size();
    }
    std::vector<Entry> before(size);
    before.swap(entries_);
    n_entries_ = 0;
    for (const Entry& entry : before) {
        if (entry.is_free() || entry.range() >= range_end_) continue;
        entry_of(entry.hash) = entry;
        ++n_entries_;
    }
    make_room();
}

RepeatFinder::Line& RepeatFinder::line_of(uint64_t hash) {
    const size_t mask = lines_.size() - 1;
    size_t at = folded_product(hash ^ kHashKey.start, kHashKey.factor) & mask;
    while (lines_[at].count > 0 && lines_[at].hash != hash) at = (at + 1) & mask;
    return lines_[at];
}

void RepeatFinder::count_line(uint64_t hash, int64_t text) {
    if (2 * (n_lines_ + 1) > lines_.size()) {
        // If there are too many, those that have been met once only are forgotten.
        const bool full = 2 * lines_.size() > std::max<size_t>(settings_.most_entries / 8, 1 << 12);
        std::vector<Line> before(full ? lines_.size() : 2 * lines_.size());
        before.swap(lines_);
        n_lines_ = 0;
        for (const Line& line : before) {
            if (line.count <= static_cast<uint32_t>(full)) continue;
            line_of(line.hash) = line;
            ++n_lines_;
        }
        if (2 * (n_lines_ + 1) > lines_.size()) return;
    }
    Line& line = line_of(hash);
    if (line.count == 0) {
        line = {hash, 0, text, -1};
        ++n_lines_;
    }
    line.count += line.last != text;
    line.last = text;
}

std::vector<RepeatedRun> RepeatFinder::find(const std::vector<TextView>& texts, int threads, StopFlag& stop) {
    std::vector<std::vector<Candidate>> candidates(texts.size());
    std::vector<std::vector<uint64_t>> lines(texts.size());
    parallel_for(texts.size(), kGrain, threads, stop, [&](size_t begin, size_t end, int) {
        Reader reader;
        for (size_t i = begin; i < end; ++i) {
            reader.read(texts[i], settings_.words);
            if (first_pass_ && settings_.template_texts > 0)
                for_each_margin_line(reader.words, [&](size_t, size_t, uint64_t hash) {
                    if (met_again(hash)) lines[i].push_back(hash);
                });
            bool hashed = false, wanted = false;
            uint32_t range = 0;
            for (size_t window = 0; window < reader.smallest.size(); ++window) {
                if (window == 0 || reader.smallest[window] != reader.smallest[window - 1]) {
                    const uint64_t hash = folded_product(reader.runs[reader.smallest[window]], kBase);
                    range = static_cast<uint32_t>(folded_product(hash, kLineSalt) & (kRanges - 1));
                    wanted = range >= range_begin_ && range < range_end_ && met_again(hash);
                }
                if (!wanted) continue;
                if (!std::exchange(hashed, true)) hash_runs(reader.words.hashes, settings_.words, reader.windows);
                candidates[i].push_back({reader.windows[window], static_cast<uint32_t>(window), range});
            }
        }
    });
    std::vector<RepeatedRun> runs;
    if (stop.load()) return runs;
    for (size_t i = 0; i < texts.size(); ++i) {
        const int64_t text = n_read_++;
        for (const uint64_t hash : lines[i]) count_line(hash, text);
        for (const Candidate& candidate : candidates[i]) {
            if (candidate.range >= range_end_) continue;
            make_room();
            if (candidate.range >= range_end_) continue;
            Entry& entry = entry_of(candidate.hash);
            if (entry.is_free()) {
                entry = {candidate.hash, static_cast<uint64_t>(text) << 24 | candidate.range};
                ++n_entries_;
                continue;
            }
            const auto earlier = static_cast<int64_t>(entry.text());
            if (earlier == text) continue;
            RepeatedRun* const last = runs.empty() ? nullptr : &runs.back();
            if (last != nullptr && last->text == text && last->earlier == earlier &&
                last->first_word + last->windows == candidate.window)
                ++last->windows;
            else
                runs.push_back({text, candidate.window, 1, earlier});
        }
    }
    return runs;
}

void RepeatFinder::end_pass() {
    range_begin_ = std::exchange(range_end_, kRanges);
    first_pass_ = false;
    n_read_ = 0;
    std::vector<Entry>(1 << 10).swap(entries_);
    n_entries_ = 0;
}

std::vector<RepeatedPlace> RepeatFinder::places(const std::vector<TextView>& texts,
                                                const std::vector<RepeatedRun>& runs, int threads, StopFlag& stop) {
    std::vector<std::vector<RepeatedPlace>> found(texts.size());
    const int64_t first_text = n_read_;
    parallel_for(texts.size(), kGrain, threads, stop, [&](size_t begin, size_t end, int) {
        Words words;
        std::vector<int64_t> earlier;     // of each word; -1 if it is not repeated
        std::vector<int64_t> of_segment;  // -1 if it stays
        std::vector<bool> is_template;
        const auto by_text = [](const RepeatedRun& run, int64_t text) { return run.text < text; };
        for (size_t i = begin; i < end; ++i) {
            const int64_t text = first_text + static_cast<int64_t>(i);
            auto run = std::lower_bound(runs.begin(), runs.end(), text, by_text);
            const bool has_runs = run != runs.end() && run->text == text;
            if (!has_runs && n_lines_ == 0) continue;
            words.read(texts[i]);
            earlier.assign(words.hashes.size(), -1);
            for (; run != runs.end() && run->text == text; ++run) {
                const size_t last = static_cast<size_t>(run->first_word + run->windows) + settings_.words - 1;
                for (auto at = static_cast<size_t>(run->first_word); at < std::min(last, earlier.size()); ++at)
                    if (earlier[at] < 0) earlier[at] = run->earlier;
            }
            of_segment.assign(words.n_segments(), -1);
            is_template.assign(words.n_segments(), false);
            for (size_t segment = 0; has_runs && segment < words.n_segments(); ++segment) {
                const size_t first = words.words_before(segment), last = words.words_before(segment + 1);
                if (first == last) continue;
                of_segment[segment] = earlier[first];
                for (size_t at = first; at < last; ++at)
                    if (earlier[at] < 0) of_segment[segment] = -1;
            }
            if (n_lines_ > 0)
                for_each_margin_line(words, [&](size_t first, size_t last, uint64_t hash) {
                    const Line& line = line_of(hash);
                    if (line.count < settings_.template_texts || line.first >= text) return;
                    for (size_t segment = first; segment < last; ++segment) {
                        if (of_segment[segment] < 0) of_segment[segment] = line.first;
                        is_template[segment] = true;
                    }
                });
            // What has no words goes if what stands before and after it does.
            size_t before = words.n_segments();
            for (size_t segment = 0; segment < words.n_segments(); ++segment) {
                if (words.words_before(segment) == words.words_before(segment + 1)) continue;
                const bool both = before < segment && of_segment[before] >= 0 && of_segment[segment] >= 0 &&
                                  is_template[before] == is_template[segment];
                for (size_t at = before + 1; both && at < segment; ++at) {
                    of_segment[at] = of_segment[before];
                    is_template[at] = is_template[before];
                }
                before = segment;
            }
            for (size_t segment = 0; segment < words.n_segments(); ++segment) {
                if (of_segment[segment] < 0) continue;
                const size_t first = segment;
                while (segment + 1 < words.n_segments() && of_segment[segment + 1] >= 0 &&
                       is_template[segment + 1] == is_template[first])
                    ++segment;
                found[i].push_back({text, static_cast<int64_t>(words.start_of(first)),
                                    static_cast<int64_t>(words.start_of(segment + 1)),
                                    static_cast<int64_t>(words.words_before(segment + 1) - words.words_before(first)),
                                    of_segment[first], is_template[first]});
            }
        }
    });
    n_read_ += static_cast<int64_t>(texts.size());
    std::vector<RepeatedPlace> all;
    for (const auto& own : found) all.insert(all.end(), own.begin(), own.end());
    return all;
}

}  // namespace sthash::join
