#include "text/scanner.hpp"

#include "text/words_of.hpp"

namespace sthash::text {

// Words that `table` lacks are gathered by each thread on its own and added at the end, so that the table is only read
// while threads run.
ScannedTexts scan_texts(const std::vector<TextView>& texts, WordTable& table, int threads, StopFlag& stop) {
    constexpr size_t kGrain = 32;
    struct Piece {
        int thread = 0;
        std::vector<int32_t> words;  // a word that only this thread knows stands as -2 - its number there
    };
    ScannedTexts result;
    result.starts.assign(texts.size() + 1, 0);
    std::vector<Piece> pieces((texts.size() + kGrain - 1) / kGrain);
    std::vector<WordTable> found(std::max(threads, 1));
    parallel_for(texts.size(), kGrain, threads, stop, [&](size_t begin, size_t end, int thread) {
        Piece& piece = pieces[begin / kGrain];
        piece.thread = thread;
        std::vector<char> buffer;
        for (size_t i = begin; i < end; ++i) {
            const size_t before = piece.words.size();
            for_each_word(texts[i], buffer, [&](const PaddedWord& word) {
                const uint64_t hash = hash_of(word);
                int32_t number = table.find(word, hash);
                if (number == WordTable::kAbsent) number = -2 - found[thread].find_or_add(word, hash);
                piece.words.push_back(number);
            });
            result.starts[i + 1] = static_cast<int64_t>(piece.words.size() - before);
        }
    });
    if (stop.load()) return {};
    std::vector<std::vector<int32_t>> numbers(found.size());
    for (size_t thread = 0; thread < found.size(); ++thread)
        for (size_t i = 0; i < found[thread].size(); ++i) {
            const PaddedWord word = found[thread].word(i);
            numbers[thread].push_back(table.find_or_add(word, hash_of(word)));
        }
    for (size_t i = 0; i < texts.size(); ++i) result.starts[i + 1] += result.starts[i];
    result.words.resize(result.starts.back());
    parallel_for(pieces.size(), 4, threads, stop, [&](size_t begin, size_t end, int) {
        for (size_t p = begin; p < end; ++p) {
            int32_t* out = result.words.data() + result.starts[p * kGrain];
            for (int32_t number : pieces[p].words)
                *out++ = number >= 0 ? number : numbers[pieces[p].thread][-2 - number];
        }
    });
    return result;
}

}  // namespace sthash::text
