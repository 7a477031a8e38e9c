// Runs of words that stand in several texts, and lines that many texts begin or end with.
//
// A window is a run of `words` words. It is repeated if an earlier text has the same words in the same order. Few of
// the windows need to be looked up: of the shorter runs in a window, that with the smallest hash stands for it (S.
// Schleimer, D. S. Wilkerson, A. Aiken. Winnowing: Local Algorithms for Document Fingerprinting. SIGMOD 2003), so a
// window can only be repeated if this run has been met in another text. Those that may be are then compared by hashes
// of 64 bits of all their words.
//
// Texts are read three times, each time all of them in the same order: `look`, `find` (in several passes if there is
// little memory), `places`.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "parallel.hpp"
#include "text/text_view.hpp"

namespace sthash::join {

struct RepeatSettings {
    size_t words = 50;     // of a window
    int filter_bits = 20;  // the filter has two times two to the power of this bits
    size_t most_entries = size_t{1} << 20;
    size_t template_texts = 10;  // that begin or end with the same line, for it to belong to a template; 0 for none
};

// Windows of one text that follow each other, all of which are in an earlier text.
struct RepeatedRun {
    int64_t text, first_word, windows, earlier;
};

// Whole sentences or lines of a text that are repeated: characters [start, end).
struct RepeatedPlace {
    int64_t text, start, end, words, earlier;
    bool of_template;
};

class RepeatFinder {
 public:
    explicit RepeatFinder(const RepeatSettings& settings);

    // Notes what texts have.
    void look(const std::vector<text::TextView>& texts, int threads, StopFlag& stop);

    // Returns repeated windows of the next texts, by text and place. Those of one pass are only some of them unless
    // `done` holds after the first pass.
    std::vector<RepeatedRun> find(const std::vector<text::TextView>& texts, int threads, StopFlag& stop);
    void end_pass();
    bool done() const { return range_begin_ == kRanges; }

    // Returns what of the next texts is repeated, given their runs of all passes, by text.
    std::vector<RepeatedPlace> places(const std::vector<text::TextView>& texts, const std::vector<RepeatedRun>& runs,
                                      int threads, StopFlag& stop);

 private:
    static constexpr uint32_t kRanges = 1 << 24;
    struct Entry {
        uint64_t hash = 0;
        uint64_t text_and_range = ~uint64_t{0};

        bool is_free() const { return text_and_range == ~uint64_t{0}; }
        uint64_t text() const { return text_and_range >> 24; }
        uint32_t range() const { return text_and_range & (kRanges - 1); }
    };
    struct Line {
        uint64_t hash = 0;
        uint32_t count = 0;
        int64_t first = -1, last = -1;
    };

    void note(uint64_t hash);
    bool met_again(uint64_t hash) const;
    Entry& entry_of(uint64_t hash);
    void make_room();
    void count_line(uint64_t hash, int64_t text);
    Line& line_of(uint64_t hash);

    RepeatSettings settings_;
    std::unique_ptr<std::atomic<uint64_t>[]> filter_;  // two bits per slot: met, met again
    std::vector<Entry> entries_ = std::vector<Entry>(1 << 10);
    size_t n_entries_ = 0;
    std::vector<Line> lines_ = std::vector<Line>(1 << 10);
    size_t n_lines_ = 0;
    uint32_t range_begin_ = 0, range_end_ = kRanges;
    bool first_pass_ = true;
    int64_t n_read_ = 0;  // texts of this pass
};

}  // namespace sthash::join
