#include "text/forms.hpp"

#include <algorithm>

#include "text/words_of.hpp"

namespace sthash::text {

namespace {

// A name has at most so many bytes, and is taken apart if it has at most so many parts.
constexpr size_t kLongestName = 128, kMostParts = 16;

int32_t column_of(const PaddedWord& word) {
    return kFirstForm | static_cast<int32_t>(lasting_hash(word) >> (64 - kFormBits));
}

// Bytes with the padding that hashes need.
class Spelling {
 public:
    void clear() { size_ = 0; }
    bool empty() const { return size_ == 0; }
    size_t size() const { return size_; }
    void push(uint32_t code) {
        if (size_ + kReserve > bytes_.size()) bytes_.resize(2 * bytes_.size() + kReserve);
        size_ = static_cast<size_t>(write_utf8(code, bytes_.data() + size_) - bytes_.data());
    }
    PaddedWord word() const { return {bytes_.data(), size_}; }
    PaddedWord slice(size_t start, size_t end) {
        slice_.assign(bytes_.begin() + static_cast<ptrdiff_t>(start), bytes_.begin() + static_cast<ptrdiff_t>(end));
        slice_.resize(end - start + PaddedWord::kPadding);
        return {slice_.data(), end - start};
    }

 private:
    std::vector<char> bytes_ = std::vector<char>(256);
    std::vector<char> slice_;
    size_t size_ = 0;
};

constexpr size_t kLongestHead = 250;

bool in_word(uint32_t code) {
    if (code < 128) return kAsciiWord[code] != 0;
    const CharacterKind kind = Characters::instance().kind(code);
    return kind != separator && kind != mark && kind != ignored;
}

bool ends_sentence(uint32_t code) {
    return code == '.' || code == '!' || code == '?' || code == 0x3002 || code == 0x06D4 || code == 0x0964;
}

bool is_space(uint32_t code) {
    return code == ' ' || (code >= 9 && code <= 13) || code == 0xA0 || code == 0x2028 || code == 0x2029 ||
           code == 0x3000;
}

template <class Char>
TextView head_in(const TextView& text) {
    const Char* const begin = static_cast<const Char*>(text.data);
    const Char* const end = begin + text.length;
    const TextView none{begin, 0, text.width};
    const auto is_word = [](Char code) { return in_word(code); };
    const auto ends_line = [](Char code) { return code == '\n' || code == '\r'; };
    // Blank lines, and lines such as ---- and /*, are passed over.
    const Char* start = std::find_if(begin, std::min(end, begin + 2 * kLongestHead), is_word);
    const Char* const most = start + std::min<size_t>(kLongestHead + 1, static_cast<size_t>(end - start));
    const Char* last = std::find_if(start, most, ends_line);
    if (last == most || std::none_of(last, end, is_word)) {
        last = start;
        while (last != most && !(ends_sentence(*last) && (*last > 127 || last + 1 == end || is_space(last[1])))) ++last;
        if (last == most) return none;
    }
    const auto length = static_cast<size_t>(last - start);
    return static_cast<size_t>(end - last) > length ? TextView{start, length, text.width} : none;
}

// Joins the words of a name, such as the _ of is_dir.
bool is_tight(uint32_t code) {
    return code == '_' || code == '-' || code == '\'';
}

// Joins names to a longer one, such as the . of os.path.join.
bool is_loose(uint32_t code) {
    switch (code) {
        case '.':
        case '/':
        case ':':
        case '@':
        case '=':
        case '?':
        case '&':
        case '#':
        case '%':
        case '~':
        case '+':
        case '\\':
            return true;
        default:
            return false;
    }
}

// Finds the names of a text: runs of words and of what joins them, without what stands at their ends.
template <class Char, class Emit>
class NameFinder {
 public:
    explicit NameFinder(Emit&& emit) : emit_(emit) {}

    void scan(const Char* at, size_t length) {
        const Char* const end = at + length;
        while (at != end) {
            const Char* const start = at;
            while (at != end && (in_word(*at) || is_tight(*at) || is_loose(*at))) ++at;
            if (at != start) run(start, at);
            if (at != end) ++at;
        }
    }

 private:
    static bool in_word(uint32_t code) {
        if (code < 128) return kAsciiWord[code] != 0;
        const CharacterKind kind = Characters::instance().kind(code);
        return kind == letter || kind == mark || kind == ignored;
    }

    // What names may begin and end with, as __init__ does.
    static bool in_name(uint32_t code) { return code == '_' || in_word(code); }

    void run(const Char* start, const Char* end) {
        if (std::none_of(start, end, in_word)) return;
        while (!in_name(*start)) ++start;
        const Char* last = end;
        while (!in_name(last[-1])) --last;
        // c++ and c#
        const auto signs = static_cast<size_t>(end - last);
        const bool plus = signs >= 2 && last[0] == '+' && last[1] == '+', sharp = signs >= 1 && last[0] == '#';
        if ((plus || sharp) && std::all_of(start, last, in_word) && last - start <= 3) {
            spell(start, last);
            for (int sign = 0; sign < (plus ? 2 : 1); ++sign) name_.push(plus ? '+' : '#');
            emit_(Form::name, name_.word());
        }
        parts(start, last);
        if (std::all_of(start, last, in_word)) return;
        names(start, last);
    }

    // The words of a name that begin with a capital inside it.
    void parts(const Char* start, const Char* end) {
        for (const Char* at = start; at != end;) {
            const Char* const word = at;
            while (at != end && in_word(*at)) ++at;
            if (at - word <= 64) capitals(word, at);
            while (at != end && !in_word(*at)) ++at;
        }
    }

    static bool is_lower(uint32_t code) { return code >= 'a' && code <= 'z'; }
    static bool is_digit(uint32_t code) { return code >= '0' && code <= '9'; }
    static bool is_upper(uint32_t code) { return code >= 'A' && code <= 'Z'; }

    void capitals(const Char* start, const Char* end) {
        size_t count = 0;
        const auto each = [&](auto&& use) {
            const Char* part = start;
            for (const Char* at = start + 1; at < end; ++at) {
                const bool begins =
                    is_upper(*at) && (is_lower(at[-1]) || (is_upper(at[-1]) && at + 1 < end && is_lower(at[1])));
                if (!begins) continue;
                use(part, at);
                part = at;
            }
            use(part, end);
        };
        each([&](const Char*, const Char*) { ++count; });
        if (count < 2 || count > kMostParts) return;
        each([&](const Char* first, const Char* last) {
            if (last - first < 2) return;
            spell(first, last);
            emit_(Form::part, name_.word());
        });
    }

    void spell(const Char* start, const Char* end) {
        const Characters& characters = Characters::instance();
        name_.clear();
        for (; start != end; ++start)
            if (*start < 128 || characters.kind(*start) != ignored) name_.push(characters.lower(*start));
    }

    // The whole, and what loose joints cut it into, alone if it has several words, and two by two.
    void names(const Char* start, const Char* end) {
        bounds_.clear();
        for (const Char* at = start; at != end;) {
            const Char* const part = at;
            while (at != end && !is_loose(*at)) ++at;
            bounds_.push_back({part, at});
            while (at != end && is_loose(*at)) ++at;
        }
        emit_name(start, end);
        if (bounds_.size() > kMostParts) return;
        for (const auto& [first, last] : bounds_) {
            const Char *inner = first, *outer = last;
            while (inner != outer && !in_name(*inner)) ++inner;
            while (outer != inner && !in_name(outer[-1])) --outer;
            if (bounds_.size() > 1) emit_name(inner, outer);
            // _is_dir_ has is_dir
            const Char *bare = inner, *bare_end = outer;
            while (bare != bare_end && !in_word(*bare)) ++bare;
            while (bare_end != bare && !in_word(bare_end[-1])) --bare_end;
            if (bare != inner || bare_end != outer) emit_name(bare, bare_end);
        }
        if (bounds_.size() <= 2) return;
        for (size_t i = 0; i + 1 < bounds_.size(); ++i)
            if (in_name(*bounds_[i].first) && in_name(bounds_[i + 1].second[-1]))
                emit_name(bounds_[i].first, bounds_[i + 1].second);
    }

    void emit_name(const Char* start, const Char* end) {
        if (start == end || static_cast<size_t>(end - start) > kLongestName) return;
        const auto any = [&](auto&& is) { return std::any_of(start, end, is); };
        if (!any(in_word) || !any([](uint32_t code) { return !in_word(code) && code != '\''; })) return;  // don't
        const bool digits = any([](uint32_t code) { return is_digit(code); });
        const bool letters = any([](uint32_t code) { return in_word(code) && !is_digit(code); });
        const bool hyphens = !any([](uint32_t code) { return !in_word(code) && code != '-' && code != '\''; });
        spell(start, end);
        const bool version = std::count_if(start, end, [](uint32_t code) { return !in_word(code); }) > 1;
        const bool prose = letters ? hyphens && !digits : !version;
        emit_(prose ? Form::compound : Form::name, name_.word());
    }

    Emit& emit_;
    Spelling name_;
    std::vector<std::pair<const Char*, const Char*>> bounds_;
};

template <class Char, class Emit>
void find_names(const void* data, size_t length, Emit&& emit) {
    NameFinder<Char, Emit>(std::forward<Emit>(emit)).scan(static_cast<const Char*>(data), length);
}

// Calls emit(kind, bytes) for each word, for what it is without accents, and for all names.
template <class Emit>
void for_each_form(const TextView& text, std::vector<char>& buffer, Emit&& emit) {
    const Characters& characters = Characters::instance();
    Spelling plain;
    for_each_word(text, buffer, [&](const PaddedWord& word) {
        emit(Form::word, word);
        if (std::all_of(word.data, word.data + word.size, [](char c) { return static_cast<uint8_t>(c) < 128; })) return;
        plain.clear();
        bool accented = false;
        for_each_code(word, [&](uint32_t code) {
            if (characters.kind(code) == mark && accented) return;
            uint32_t letters[2];
            const int count = characters.without_accent(code, letters);
            for (int i = 0; i < count; ++i) plain.push(letters[i]);
            accented = characters.takes_accents(code);
        });
        if (plain.size() != word.size || std::memcmp(plain.word().data, word.data, word.size) != 0)
            emit(Form::plain, plain.word());
    });
    if (text.width == 1) find_names<uint8_t>(text.data, text.length, emit);
    if (text.width == 2) find_names<uint16_t>(text.data, text.length, emit);
    if (text.width == 4) find_names<uint32_t>(text.data, text.length, emit);
}

bool is_number(const PaddedWord& word) {
    return word.data[0] >= '0' && word.data[0] <= '9';
}

bool is_unspaced(const PaddedWord& word) {
    if (static_cast<uint8_t>(word.data[0]) < 0xE0) return false;  // below U+0800
    bool found = false, first = true;
    for_each_code(word, [&](uint32_t code) {
        if (first) found = Characters::instance().kind(code) == unspaced;
        first = false;
    });
    return found;
}

}  // namespace

TextView head_of(const TextView& text) {
    if (text.width == 1) return head_in<uint8_t>(text);
    if (text.width == 2) return head_in<uint16_t>(text);
    return head_in<uint32_t>(text);
}

int32_t head_column(const TextView& stem) {
    Spelling salted;
    salted.push(1);  // no word begins with it
    const auto spell = [&](const auto* letters) {
        for (size_t at = 0; at < stem.length; ++at) salted.push(letters[at]);
    };
    if (stem.width == 1) spell(static_cast<const uint8_t*>(stem.data));
    if (stem.width == 2) spell(static_cast<const uint16_t*>(stem.data));
    if (stem.width == 4) spell(static_cast<const uint32_t*>(stem.data));
    return column_of(salted.word());
}

FormRows count_forms(const std::vector<TextView>& texts, const HeadsView& heads, const FormOptions& options,
                     int threads, StopFlag& stop) {
    constexpr size_t kGrain = 32;
    struct Piece {
        std::vector<int32_t> columns, counts;
    };
    const auto is_kept = [&](Form::Kind kind, const PaddedWord& word, int32_t column) {
        if (kind != Form::word) return true;
        if (options.stemmed && !is_number(word) && !is_unspaced(word)) return true;
        return std::binary_search(options.stop_words.begin(), options.stop_words.end(), column);
    };
    FormRows rows;
    rows.indptr.assign(texts.size() + 1, 0);
    std::vector<Piece> pieces((texts.size() + kGrain - 1) / kGrain);
    parallel_for(texts.size(), kGrain, threads, stop, [&](size_t begin, size_t end, int) {
        Piece& piece = pieces[begin / kGrain];
        std::vector<char> buffer;
        std::vector<int32_t> own;
        for (size_t i = begin; i < end; ++i) {
            own.clear();
            for_each_form(texts[i], buffer, [&](Form::Kind kind, const PaddedWord& word) {
                const int32_t column = column_of(word);
                if (is_kept(kind, word, column)) own.push_back(column);
            });
            if (heads.indptr != nullptr)
                own.insert(own.end(), heads.columns + heads.indptr[i], heads.columns + heads.indptr[i + 1]);
            std::sort(own.begin(), own.end());
            const size_t before = piece.columns.size();
            for (size_t at = 0; at < own.size();) {
                const size_t first = at;
                while (at < own.size() && own[at] == own[first]) ++at;
                piece.columns.push_back(own[first]);
                piece.counts.push_back(static_cast<int32_t>(at - first));
            }
            rows.indptr[i + 1] = static_cast<int64_t>(piece.columns.size() - before);
        }
    });
    if (stop.load()) return {{0}, {}, {}};
    for (size_t i = 0; i < texts.size(); ++i) rows.indptr[i + 1] += rows.indptr[i];
    rows.columns.reserve(static_cast<size_t>(rows.indptr.back()));
    rows.counts.reserve(static_cast<size_t>(rows.indptr.back()));
    for (Piece& piece : pieces) {
        rows.columns.insert(rows.columns.end(), piece.columns.begin(), piece.columns.end());
        rows.counts.insert(rows.counts.end(), piece.counts.begin(), piece.counts.end());
        piece = {};
    }
    return rows;
}

std::vector<Form> forms_of(const TextView& text) {
    std::vector<Form> forms;
    std::vector<char> buffer;
    for_each_form(text, buffer,
                  [&](Form::Kind kind, const PaddedWord& word) { forms.push_back({kind, column_of(word)}); });
    return forms;
}

}  // namespace sthash::text
