// Words of texts, term counts, and words that are spelled alike.
#include <algorithm>
#include <map>

#include "check.hpp"
#include "text/counter.hpp"
#include "text/scanner.hpp"
#include "text/spelling.hpp"

using namespace sthash;
using namespace sthash::text;
using namespace sthash::test;

namespace {

std::string word_of(const WordTable& table, int32_t number) {
    const PaddedWord word = table.word(static_cast<size_t>(number));
    return {word.data, word.size};
}

std::vector<std::string> plain_words(const std::string& text) {
    std::vector<std::string> words;
    std::string word;
    for (const char c : text + ' ') {
        const bool upper = c >= 'A' && c <= 'Z';
        if (upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
            word += upper ? static_cast<char>(c - 'A' + 'a') : c;
        } else if (!word.empty()) {
            words.push_back(std::move(word));
            word.clear();
        }
    }
    return words;
}

std::string random_text(size_t length) {
    static const std::string characters = "abcXYZ019 .,-\n\t\x7f";
    std::string text;
    for (size_t i = 0; i < length; ++i) text += characters[draw(characters.size())];
    return text;
}

// The same texts as one, two and four bytes per character; ASCII texts of one byte take another way than the others.
void check_scanner(int threads) {
    std::vector<std::string> texts;
    for (const size_t length : {0, 1, 63, 64, 65, 127, 128, 129, 5000}) texts.push_back(random_text(length));
    for (int i = 0; i < 200; ++i) texts.push_back(random_text(draw(300)));
    texts.emplace_back(700, 'a');
    std::vector<std::u16string> two;
    std::vector<std::u32string> four;
    for (const std::string& text : texts) {
        two.emplace_back(text.begin(), text.end());
        four.emplace_back(text.begin(), text.end());
    }
    WordTable table;
    StopFlag stop{false};
    for (const int width : {1, 2, 4}) {
        std::vector<TextView> views;
        for (size_t i = 0; i < texts.size(); ++i)
            views.push_back({width == 1   ? static_cast<const void*>(texts[i].data())
                             : width == 2 ? static_cast<const void*>(two[i].data())
                                          : static_cast<const void*>(four[i].data()),
                             texts[i].size(), width});
        const ScannedTexts scanned = scan_texts(views, table, threads, stop);
        for (size_t i = 0; i < texts.size(); ++i) {
            std::vector<std::string> found;
            for (int64_t at = scanned.starts[i]; at < scanned.starts[i + 1]; ++at)
                found.push_back(word_of(table, scanned.words[static_cast<size_t>(at)]));
            check(found == plain_words(texts[i]), "words of a text");
        }
    }
}

void check_scripts() {
    const std::u16string text = u"\u00C9t\u00E9 \u6F22\u5B57\u5B66 e\u0301";  // upper and lower case, pairs, a mark
    const std::vector<std::string> wanted = {"\xC3\xA9t\xC3\xA9", "\xE6\xBC\xA2\xE5\xAD\x97",
                                             "\xE5\xAD\x97\xE5\xAD\xA6", "e\xCC\x81"};
    WordTable table;
    StopFlag stop{false};
    const ScannedTexts scanned = scan_texts({{text.data(), text.size(), 2}}, table, 1, stop);
    std::vector<std::string> found;
    for (const int32_t word : scanned.words) found.push_back(word_of(table, word));
    check(found == wanted, "words of other scripts");
}

void check_counts(int threads) {
    constexpr size_t n_words = 50, n_terms = 20, n_texts = 100;
    std::vector<int64_t> starts{0};
    std::vector<int32_t> words, term_of(n_words);
    for (int32_t& term : term_of) term = static_cast<int32_t>(draw(n_terms + 1)) - 1;
    for (size_t i = 0; i < n_texts; ++i) {
        for (size_t left = draw(40); left > 0; --left) words.push_back(static_cast<int32_t>(draw(n_words)));
        starts.push_back(static_cast<int64_t>(words.size()));
    }
    StopFlag stop{false};
    const CountRows rows =
        count_terms({starts.data(), words.data(), n_texts}, {term_of.data(), n_words, n_terms}, threads, stop);
    for (size_t i = 0; i < n_texts; ++i) {
        std::map<int32_t, int32_t> wanted, found;
        for (int64_t at = starts[i]; at < starts[i + 1]; ++at) {
            const int32_t term = term_of[static_cast<size_t>(words[static_cast<size_t>(at)])];
            if (term >= 0) ++wanted[term];
        }
        for (auto at = static_cast<size_t>(rows.indptr[i]); at < static_cast<size_t>(rows.indptr[i + 1]); ++at) {
            check(found.empty() || found.rbegin()->first < rows.indices[at], "order of terms");
            found[rows.indices[at]] = rows.counts[at];
        }
        check(found == wanted, "term counts");
    }
}

int edits(const std::string& a, const std::string& b) {
    std::vector<std::vector<int>> table(a.size() + 1, std::vector<int>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); ++i)
        for (size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                table[i][j] = static_cast<int>(i + j);
                continue;
            }
            table[i][j] =
                std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
        }
    return table[a.size()][b.size()];
}

void check_spelling(int threads) {
    const auto random_word = [](size_t most) {
        std::string word;
        for (size_t left = 1 + draw(most); left > 0; --left) word += static_cast<char>('a' + draw(3));
        return word;
    };
    std::vector<std::string> words;
    std::vector<int64_t> frequencies;
    for (int i = 0; i < 400; ++i) {
        words.push_back(random_word(i % 10 == 0 ? 64 : 8));
        frequencies.push_back(static_cast<int64_t>(draw(5)));
    }
    std::vector<TextView> views;
    for (const std::string& word : words) views.push_back({word.data(), word.size(), 1});
    const SpelledWords spelled(views, frequencies.data());
    StopFlag stop{false};
    for (int round = 0; round < 10; ++round) {
        const std::string word = random_word(round == 0 ? 64 : 8);
        const size_t count = 1 + draw(30);
        std::vector<SimilarWord> wanted;
        for (size_t i = 0; i < words.size(); ++i)
            if (const int distance = edits(word, words[i]); distance <= 2)
                wanted.push_back({static_cast<int64_t>(i), frequencies[i], distance});
        std::stable_sort(wanted.begin(), wanted.end(), [](const SimilarWord& a, const SimilarWord& b) {
            return a.distance != b.distance ? a.distance < b.distance : a.frequency > b.frequency;
        });
        wanted.resize(std::min(count, wanted.size()));
        const std::vector<SimilarWord> found = spelled.similar({word.data(), word.size(), 1}, 2, count, threads, stop);
        check(std::equal(found.begin(), found.end(), wanted.begin(), wanted.end(),
                         [](const SimilarWord& a, const SimilarWord& b) {
                             return a.place == b.place && a.frequency == b.frequency && a.distance == b.distance;
                         }),
              "similar words");
    }
}

}  // namespace

void test_text() {
    for (const int threads : {1, 3}) {
        check_scanner(threads);
        check_counts(threads);
        check_spelling(threads);
    }
    check_scripts();
}
