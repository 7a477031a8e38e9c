#include "join/wording.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "keyed_hash.hpp"
#include "text/words_of.hpp"

namespace sthash::join {

namespace {

using text::PaddedWord;
using text::TextView;

// From so many words on, texts are compared by pairs of words; up to so many, by runs of characters.
constexpr size_t kLeastWords = 8, kMostLetterWords = 12;
constexpr size_t kRun = 4;

enum Kind : uint64_t { plain = 0, number = 1, negation = 2, name = 3 };
constexpr int kKindShift = 62;

Kind kind_of(uint64_t mark) {
    return static_cast<Kind>(mark >> kKindShift);
}

uint64_t joined(uint64_t a, uint64_t b) {
    return folded_product(a ^ 0x9FB21C651E98DF25ull, std::rotl(b, 29) ^ 0xA0761D6478BD642Full) + b;
}

// Negations of some languages.
constexpr std::string_view kNegations[] = {
    "not",    "no",      "never",   "none",   "nor",      "neither", "without", "cannot",  "nothing", "nobody",
    "nowhere", "dont",   "doesnt",  "didnt",  "isnt",     "arent",   "wasnt",   "cant",    "wont",    "unless",
    "nicht",  "kein",    "keine",   "keinen", "keiner",   "keinem",  "nie",     "niemals", "ohne",    "niemand",
    "nichts", "pas",     "jamais",  "sans",   "aucun",    "aucune",  "rien",    "nunca",   "sin",     "nada",
    "nadie",  "ningún",  "ninguna", "não",    "sem",      "nem",     "nenhum",  "nenhuma", "senza",   "nessun",
    "nessuno", "niet",   "geen",    "nooit",  "zonder",   "inte",    "ingen",   "aldrig",  "utan",    "ikke",
    "uten",   "uden",    "bez",     "nigdy",  "ilman",    "не",      "нет",     "ни",      "без",     "никогда",
    "δεν",    "μην",     "χωρίς",   "değil",  "yok",      "لا",      "ليس",     "لم",      "לא"};
// What stands before the apostrophe and the t of a contraction.
constexpr std::string_view kContracted[] = {"don",    "doesn",   "didn",   "isn",  "aren",  "wasn", "weren", "won",
                                            "wouldn", "couldn",  "shouldn", "hasn", "haven", "hadn", "can",   "ain",
                                            "mustn",  "needn",   "shan"};
// Letters of unspaced scripts that negate.
constexpr uint32_t kNegatingLetters[] = {0x4E0D, 0x6CA1, 0x6C92, 0x7121, 0x65E0, 0x672A, 0x975E, 0x522B, 0x5225};

uint64_t hash_of_word(std::string_view word) {
    std::vector<char> padded(word.begin(), word.end());
    padded.resize(word.size() + PaddedWord::kPadding);
    return text::lasting_hash({padded.data(), word.size()});
}

// Some words, found by their hashes.
class WordList {
 public:
    template <size_t count>
    explicit WordList(const std::string_view (&words)[count]) : maybe_(4096) {
        for (const std::string_view word : words) {
            hashes_.push_back(hash_of_word(word));
            maybe_[hashes_.back() >> 52] = true;
        }
        std::sort(hashes_.begin(), hashes_.end());
    }

    bool has(uint64_t hash) const {
        return maybe_[hash >> 52] && std::binary_search(hashes_.begin(), hashes_.end(), hash);
    }

 private:
    std::vector<bool> maybe_;
    std::vector<uint64_t> hashes_;
};

bool is_negation(uint64_t hash, uint64_t before) {
    static const WordList negations(kNegations), contracted(kContracted);
    static const uint64_t t = hash_of_word("t");
    return negations.has(hash) || (hash == t && contracted.has(before));
}

bool is_capital(uint32_t code) {
    if (code < 128) return code >= 'A' && code <= 'Z';
    return text::Characters::instance().lower(code) != code;
}

// A name also tells how it is spelled: its length, and how often letters of each of 20 classes occur in it, up to twice.
constexpr int kLengthShift = 58, kHashShift = 40, kClasses = 20;

// Scanners take digits for letters.
uint32_t letter_like(uint32_t code) {
    switch (code) {
        case '0':
            return 'o';
        case '1':
            return 'l';
        case '5':
            return 's';
        case '6':
            return 'b';
        default:
            return code;
    }
}

uint64_t spelling_of(const PaddedWord& word, uint64_t hash) {
    uint64_t letters = 0, length = 0;
    text::for_each_code(word, [&](uint32_t code) {
        code = letter_like(code);
        const uint64_t once = uint64_t{1} << (2 * (code * 0x9E3779B1u >> 8) % (2 * kClasses));
        letters |= (letters & once) == 0 ? once : once << 1;
        ++length;
    });
    return std::min<uint64_t>(length, 15) << kLengthShift | (hash >> (64 - 18)) << kHashShift | letters;
}

bool spelled_alike(uint64_t a, uint64_t b) {
    constexpr uint64_t kLetters = (uint64_t{1} << 2 * kClasses) - 1;
    const auto length = [](uint64_t mark) { return static_cast<int>(mark >> kLengthShift & 15); };
    const int shorter = std::min(length(a), length(b)), longer = std::max(length(a), length(b));
    if (longer - shorter > 1) return false;
    return std::popcount((a ^ b) & kLetters) <= (shorter < 5 ? 1 : 2);
}

struct Word {
    uint64_t hash;
    uint64_t mark;
};

// The words of a text, and its letters if there are few words.
class Reader {
 public:
    void read(const TextView& text) {
        words_.clear();
        codes_.assign(1, ' ');
        size_t letters = 0;
        text::for_each_word(text, buffer_, [&](const PaddedWord& word, uint32_t first, uint32_t after) {
            letters += word.size;
            add(word, first, after);
        });
        if (2 * letters < text.length && is_drawn(text, letters)) draw(text);
    }

    const std::vector<Word>& words() const { return words_; }
    const std::vector<uint32_t>& codes() const { return codes_; }

 private:
    void add(const PaddedWord& word, uint32_t first, uint32_t after) {
        uint64_t hash = text::lasting_hash(word);
        const bool is_signed = after == '+' || after == '#' || after == '%';  // as in C++ and 5%
        if (words_.size() < kMostLetterWords) {
            text::for_each_code(word, [&](uint32_t code) { codes_.push_back(code); });
            if (is_signed) codes_.push_back(after);
            codes_.push_back(' ');
        }
        Kind kind = plain;
        size_t digits = 0;
        bool ascii = true;
        for (size_t at = 0; at < word.size; ++at) {
            digits += word.data[at] >= '0' && word.data[at] <= '9';
            ascii &= static_cast<uint8_t>(word.data[at]) < 128;
        }
        if (is_signed || 2 * digits >= word.size)
            kind = number;
        else if (is_negation(hash, words_.empty() ? 0 : words_.back().hash) || (!ascii && negates(word)))
            kind = negation;
        else if (is_capital(first))
            kind = name;
        if (is_signed) hash = joined(hash, after);
        const uint64_t rest = kind == name ? spelling_of(word, hash) : hash >> (64 - kKindShift);
        words_.push_back({hash, static_cast<uint64_t>(kind) << kKindShift | rest});
    }

    static bool negates(const PaddedWord& word) {
        bool found = false;
        text::for_each_code(word, [&](uint32_t code) {
            found |= std::find(std::begin(kNegatingLetters), std::end(kNegatingLetters), code) !=
                     std::end(kNegatingLetters);
        });
        return found;
    }

    // Whether less than half of what is visible belongs to words.
    static bool is_drawn(const TextView& text, size_t letters) {
        size_t visible = 0;
        for_each_character(text, [&](uint32_t code) { visible += code > ' '; });
        return 2 * letters < visible;
    }

    template <class Use>
    static void for_each_character(const TextView& text, Use&& use) {
        for (size_t at = 0; at < text.length; ++at)
            use(text.width == 1   ? static_cast<const uint8_t*>(text.data)[at]
                : text.width == 2 ? static_cast<const uint16_t*>(text.data)[at]
                                  : static_cast<const uint32_t*>(text.data)[at]);
    }

    // Takes runs of one character for words, as in a drawing; trailing space does not count.
    void draw(const TextView& text) {
        words_.clear();
        codes_.assign(1, ' ');
        uint32_t last = '\n';
        uint64_t length = 0;
        const auto end_run = [&] {
            const uint64_t hash = joined(last, length);
            const Kind kind = last >= '0' && last <= '9' ? number : plain;
            words_.push_back({hash, static_cast<uint64_t>(kind) << kKindShift | hash >> (64 - kKindShift)});
            if (words_.size() <= kMostLetterWords) codes_.insert(codes_.end(), std::min<size_t>(length, 64), last);
        };
        const text::Characters& characters = text::Characters::instance();
        for_each_character(text, [&](uint32_t code) {
            if (code == '\r') return;
            code = code == '\t' ? ' ' : characters.lower(code);
            if (code == last) {
                ++length;
                return;
            }
            if (length > 0 && (last != ' ' || code != '\n')) end_run();
            last = code;
            length = 1;
        });
        if (last != ' ' && last != '\n') end_run();
        codes_.push_back(' ');
    }

    std::vector<char> buffer_;
    std::vector<Word> words_;
    std::vector<uint32_t> codes_;
};

void sort_each_once(std::vector<uint64_t>& items) {
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
}

// The first mark of a text: the number of its words, and a hash of the last one.
constexpr int kCountShift = 32;

// The sets of one text, and its marks.
struct OwnSets {
    std::vector<uint64_t> pairs, runs, marks;

    void make(const Reader& reader) {
        const std::vector<Word>& words = reader.words();
        for (auto* own : {&pairs, &runs, &marks}) own->clear();
        if (words.empty()) return;
        uint64_t whole = words.size(), before = 1;
        for (const Word& word : words) {
            whole = joined(whole, word.hash);
            if (words.size() >= kLeastWords) pairs.push_back(joined(before, word.hash));
            before = word.hash;
        }
        if (words.size() >= kLeastWords) {
            pairs.push_back(joined(before, 2));
            pairs.push_back(whole);
            sort_each_once(pairs);
        }
        const bool is_short = words.size() <= kMostLetterWords;
        if (is_short) {
            const std::vector<uint32_t>& codes = reader.codes();
            const size_t length = std::min(kRun, codes.size());
            for (size_t first = 0; first + length <= codes.size(); ++first) {
                uint64_t run = 3;
                for (size_t at = first; at < first + length; ++at) run = joined(run, codes[at]);
                runs.push_back(run);
            }
            runs.push_back(whole);
            sort_each_once(runs);
        }
        marks.push_back(static_cast<uint64_t>(words.size()) << kCountShift | before >> (64 - kCountShift));
        for (const Word& word : words)
            if (is_short || kind_of(word.mark) != plain) marks.push_back(word.mark);
        std::sort(marks.begin() + 1, marks.end());
    }
};

}  // namespace

Wording wording_of(const std::vector<TextView>& texts, int threads, StopFlag& stop) {
    constexpr size_t kGrain = 256;
    struct Piece {
        std::vector<uint64_t> items, marks;
    };
    std::vector<Piece> pieces((texts.size() + kGrain - 1) / kGrain);
    Wording found;
    found.indptr.assign(2 * texts.size() + 1, 0);
    found.marks_indptr.assign(texts.size() + 1, 0);
    parallel_for(texts.size(), kGrain, threads, stop, [&](size_t begin, size_t end, int) {
        Piece& piece = pieces[begin / kGrain];
        Reader reader;
        OwnSets sets;
        for (size_t i = begin; i < end; ++i) {
            reader.read(texts[i]);
            sets.make(reader);
            piece.items.insert(piece.items.end(), sets.pairs.begin(), sets.pairs.end());
            piece.items.insert(piece.items.end(), sets.runs.begin(), sets.runs.end());
            piece.marks.insert(piece.marks.end(), sets.marks.begin(), sets.marks.end());
            found.indptr[2 * i + 1] = static_cast<int64_t>(sets.pairs.size());
            found.indptr[2 * i + 2] = static_cast<int64_t>(sets.runs.size());
            found.marks_indptr[i + 1] = static_cast<int64_t>(sets.marks.size());
        }
    });
    if (stop.load()) return {};
    for (size_t i = 0; i < 2 * texts.size(); ++i) found.indptr[i + 1] += found.indptr[i];
    for (size_t i = 0; i < texts.size(); ++i) found.marks_indptr[i + 1] += found.marks_indptr[i];
    found.items.reserve(found.indptr.back());
    found.marks.reserve(found.marks_indptr.back());
    for (Piece& piece : pieces) {
        found.items.insert(found.items.end(), piece.items.begin(), piece.items.end());
        found.marks.insert(found.marks.end(), piece.marks.begin(), piece.marks.end());
        piece = {};
    }
    return found;
}

bool kept_apart(const uint64_t* left, const uint64_t* left_end, const uint64_t* right, const uint64_t* right_end,
                const Difference& difference, bool keep_numbers) {
    if (left == left_end || right == right_end) return false;
    const bool same_end = static_cast<uint32_t>(*left) == static_cast<uint32_t>(*right);
    const int64_t more_words =
        static_cast<int64_t>(*left++ >> kCountShift) - static_cast<int64_t>(*right++ >> kCountShift);
    // By side and kind: how many words the other text lacks.
    std::array<std::array<int64_t, 4>, 2> only{};
    constexpr size_t kMostNames = 32;
    std::array<std::array<uint64_t, kMostNames>, 2> names;
    const auto take = [&](size_t side, uint64_t mark) {
        int64_t& count = only[side][kind_of(mark)];
        if (kind_of(mark) == name && static_cast<size_t>(count) < kMostNames) names[side][count] = mark;
        ++count;
    };
    while (left != left_end || right != right_end) {
        if (right == right_end || (left != left_end && *left < *right))
            take(0, *left++);
        else if (left == left_end || *right < *left)
            take(1, *right++);
        else
            ++left, ++right;
    }
    auto &ours = only[0], &theirs = only[1];
    if (keep_numbers && ours[number] + theirs[number] > 0) return true;
    // What ends differently may have been cut off.
    if (!same_end && (ours[number] == 0 || theirs[number] == 0)) {
        for (auto& own : only) own[plain] += std::exchange(own[number], 0);
    }
    // Names that are spelled alike are slips of the pen.
    const auto n_ours = std::min<size_t>(ours[name], kMostNames), n_theirs = std::min<size_t>(theirs[name], kMostNames);
    uint64_t taken = 0;
    for (size_t i = 0; i < n_ours; ++i)
        for (size_t j = 0; j < n_theirs; ++j) {
            if ((taken >> j & 1) != 0 || !spelled_alike(names[0][i], names[1][j])) continue;
            taken |= uint64_t{1} << j;
            for (auto& own : only) --own[name], ++own[plain];
            break;
        }
    if (ours[name] == 0 || theirs[name] == 0)
        for (auto& own : only) own[plain] += std::exchange(own[name], 0);
    const auto decisive = [](const std::array<int64_t, 4>& own) { return own[number] + own[negation] + own[name]; };
    const int64_t left_words = decisive(ours), right_words = decisive(theirs);
    if (left_words + right_words == 0) return false;
    if (!difference.of_words) return true;
    // No other words come or go, but an auxiliary verb with a negation.
    const int64_t negations = ours[negation] + theirs[negation];
    if (std::abs(more_words - (left_words - right_words)) > negations) return false;
    // A word is in two pairs, and what one text inserts breaks a pair of the other.
    const int64_t of_left = left_words + ours[negation], of_right = right_words + theirs[negation];
    return difference.only_left <= 2 * of_left + of_right && difference.only_right <= 2 * of_right + of_left;
}

}  // namespace sthash::join
