"""Ten languages: words inside sentences, near-duplicates; and the settings that go with languages."""

import warnings

import pytest

import sthash
from sthash import Learning, TextModel, TextVectorizer
from sthash.text.analyzer import WordAnalyzer
from sthash.text.detection import guess_language
from sthash.text.languages import language_names, language_stemmer, language_stop_words
from sthash.text.stop_words import STOP_WORDS

# Language: a sentence, the same with one character changed, a word inside it, some of its terms, two other sentences.
SENTENCES = {
    "chinese": (
        "我们明天去北京天安门广场看升旗仪式",
        "我们后天去北京天安门广场看升旗仪式",
        "天安门",
        ["北京", "天安", "安门"],
        ["今天的天气非常好适合散步", "这家餐厅的菜很好吃"],
    ),
    "japanese": (
        "昨日は友達と一緒に東京タワーの近くで食事をしました",
        "昨日は友達と一緒に東京タワーの近くで食事をしました。",
        "東京タワー",
        ["東京", "タワ", "ワー"],
        ["今日は雨が降っています", "この本はとても面白いと思う"],
    ),
    "korean": (
        "우리는 내일 서울에서 맛있는 불고기를 먹을 예정입니다",
        "우리는 오늘 서울에서 맛있는 불고기를 먹을 예정입니다",
        "불고기",
        ["서울", "불고", "고기"],
        ["오늘은 날씨가 아주 좋습니다", "그 영화는 정말 재미있었다"],
    ),
    "thai": (
        "พรุ่งนี้เราจะไปเที่ยวกรุงเทพมหานครกับครอบครัวของเรา",
        "พรุ่งนี้เราจะไปเที่ยวกรุงเทพมหานครกับครอบครัวของเขา",
        "กรุงเทพ",
        ["รุง", "ทพ"],
        ["วันนี้อากาศดีมาก", "อาหารร้านนี้อร่อย"],
    ),
    "lao": (
        "ມື້ອື່ນພວກເຮົາຈະໄປວຽງຈັນນຳກັນ",
        "ມື້ອື່ນພວກເຈົ້າຈະໄປວຽງຈັນນຳກັນ",
        "ວຽງຈັນ",
        ["ວຽ"],
        ["ມື້ນີ້ອາກາດດີ", "ອາຫານແຊບຫຼາຍ"],
    ),
    "khmer": (
        "ថ្ងៃស្អែកយើងនឹងទៅភ្នំពេញជាមួយគ្នា",
        "ថ្ងៃស្អែកគេនឹងទៅភ្នំពេញជាមួយគ្នា",
        "ភ្នំពេញ",
        ["ពេញ"],
        ["អាកាសធាតុល្អណាស់", "ម្ហូបនេះឆ្ងាញ់"],
    ),
    "burmese": (
        "မနက်ဖြန်ကျွန်တော်တို့ရန်ကုန်မြို့သို့သွားမည်",
        "မနက်ဖြန်ကျွန်မတို့ရန်ကုန်မြို့သို့သွားမည်",
        "ရန်ကုန်",
        ["ရန်"],
        ["ရာသီဥတုကောင်းသည်", "ဒီအစားအစာကအရသာရှိတယ်"],
    ),
    "german": (
        "Die alten Häuser in der kleinen Straße wurden im Sommer verkauft.",
        "Die alten Häuser in der kleinen Strasse wurden im Sommer verkauft.",
        "Haus",
        ["haus", "klein", "verkauft"],
        ["Das Wetter ist heute sehr schön.", "Er liest ein gutes Buch."],
    ),
    "russian": (
        "Старые дома на маленькой улице были проданы прошлым летом.",
        "Старые дома на маленькой улице были проданы этим летом.",
        "дом",
        ["дом", "улиц"],
        ["Сегодня очень хорошая погода.", "Он читает интересную книгу."],
    ),
    "arabic": (
        "ذهب الطلاب إلى المدرسة الجديدة في الصباح الباكر",
        "ذهب الطلاب إلى المدرسة القديمة في الصباح الباكر",
        "مدرسة",
        [],
        ["الطقس جميل جدا اليوم", "هذا الكتاب مفيد للقراء"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("language", SENTENCES)
def test_a_word_inside_a_sentence_and_a_sentence_with_one_change_are_found(language):
    sentence, changed, word, terms, others = SENTENCES[language]
    vectorizer = TextVectorizer(language=language, weighting="tf")
    rows = vectorizer.fit_transform([sentence, *others])
    assert all(any(term in known for known in vectorizer.vocabulary_) for term in terms)
    scores = (rows @ vectorizer.transform([word, changed]).T).toarray()
    assert scores[0, 0] > 0
    assert scores[1:, 0].max() < scores[0, 0]
    assert scores[0, 1] > 0.6
    assert scores[1:, 1].max() < 0.3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("東京都", ["京都", "東京"]),
        ("猫", ["猫"]),
        ("東京2020年 オリンピック", ["2020", "ック", "ピッ", "オリ", "リン", "ンピ", "年", "東京"]),
        ("iPhoneを買う", ["iphone", "を買", "買う"]),
        ("日本。語", ["日本", "語"]),
        ("ＡＢＣ漢字", ["abc", "漢字"]),
        ("ที่นี่", ["ที่นี่"]),  # marks go with their letters: two letters, one pair
        ("𠀀𠀁𠀂", ["𠀀𠀁", "𠀁𠀂"]),
    ],
)
def test_unspaced_text_becomes_pairs(text, words):
    vectorizer = TextVectorizer(language="none").fit([text])
    assert sorted(vectorizer.vocabulary_) == sorted(words)


def test_every_language_has_its_stems_and_stop_words():
    assert {*STOP_WORDS, "english", "none"} <= {*language_names()} | {
        "czech",
        "esperanto",
        "persian",
        "polish",
        "sesotho",
    }
    for language in language_names():
        vectorizer = TextVectorizer(language=language).fit(["some words 12 東京都"])
        assert vectorizer.stemmer_ == ("porter" if language == "english" else language_stemmer(language))
        assert vectorizer.stop_words_ == language_stop_words(language)
        assert all(word == word.lower() for word in vectorizer.stop_words_)
    german = TextVectorizer(language="german").fit(["Die Häuser im Tal", "ein Haus und das Tal"])
    assert set(german.vocabulary_) == {"haus", "tal"}
    plain = TextVectorizer(language="none").fit(["The cats and dogs"])
    assert set(plain.vocabulary_) == {"the", "cats", "and", "dogs"}
    mixed = TextVectorizer(language="german", stop_words="english", stemmer=None).fit(["the Häuser"])
    assert set(mixed.vocabulary_) == {"häuser"}


def test_english_is_as_it_was():
    assert TextVectorizer().fit(["the running cats"]).stemmer_ == "porter"
    explicit = TextVectorizer(stop_words="english", stemmer="porter").fit(["the running cats"])
    assert explicit.stop_words_ == TextVectorizer().fit(["the running cats"]).stop_words_


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"language": "klingon"}, "klingon.*german"),
        ({"language": None}, "language=None.*none"),
        ({"stop_words": "klingon"}, "klingon.*auto"),
    ],
)
def test_unknown_settings_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        TextVectorizer(**options).fit(["a text"])


def test_fold_accents_must_be_a_bool():
    with pytest.raises(TypeError, match="fold_accents='no'"):
        TextVectorizer(fold_accents="no").fit(["a text"])


def test_accents_are_folded_on_wish(tmp_path):
    texts = ["Un café très étrange", "Ça c'était à Łódź", "sein Straßenfuß"]
    vectorizer = TextVectorizer(language="french", fold_accents=True).fit(texts)
    for plain, accented in [("cafe", "café"), ("etrange", "étrange"), ("lodz", "Łódź"), ("strassenfuss", "Straßenfuß")]:
        assert vectorizer.analyze(plain) == vectorizer.analyze(accented) != []
    assert vectorizer.analyze("ça à etait") == []  # stop words are folded too
    vectorizer.save(tmp_path / "vectorizer")
    assert sthash.load(tmp_path / "vectorizer").analyze("CAFÉ") == vectorizer.analyze("cafe")
    plain = TextVectorizer(language="french").fit(texts)
    assert plain.analyze("lodz") == []
    model = TextModel.build(texts * 5, text_options=vectorizer, learning=Learning(n_bits=2, n_neighbors=3))
    assert model.encode(["cafe"]).rows.columns.size == 1


def test_marks_that_make_another_letter_stay():
    words = ["が", "ที่", "한국", "й", "की"]
    terms, _ = WordAnalyzer(frozenset(), None, fold_accents=True).terms(words)
    assert terms == words


TEXTS = {
    "german": "Der Hund und die Katze sind in dem Haus, und sie haben nichts zu essen.",
    "french": "Le chien et le chat sont dans la maison, et ils n'ont rien à manger.",
    "spanish": "El perro y el gato están en la casa, y no tienen nada que comer.",
    "russian": "Собака и кошка сидят в доме, и у них нет ничего, что можно съесть.",
    "japanese": "東京は日本の首都であり、とても大きい都市です。",
    "chinese": "北京是中国的首都也是一座非常大的城市",
    "korean": "서울은 대한민국의 수도이며 아주 큰 도시입니다",
    "thai": "กรุงเทพเป็นเมืองหลวงของประเทศไทย",
    "none": "Швидка руда лисиця стрибає через ледачого пса і біжить до лісу з їжаком",
}


@pytest.mark.parametrize("language", TEXTS)
def test_another_language_than_the_chosen_one_is_told(language):
    texts = [TEXTS[language]] * 20
    with pytest.warns(UserWarning, match=f"language='{language}'"):
        TextVectorizer().fit(texts)
    TextVectorizer(language=language).fit(texts)
    TextVectorizer(stop_words=None, stemmer=None).fit(texts)  # whoever says what to use is not warned


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("ذهب الولد الى المدرسة في الصباح و عاد من هناك بعد الظهر مع صديقه الجديد الذي يسكن قرب البيت", "arabic"),
        ("یہ کتاب پاکستان کی تاریخ کے بارے میں ہے اور میں نے اسے لائبریری سے لیا ہے کیونکہ یہ بہت اچھی ہے", "none"),
    ],
)
def test_other_scripts(text, language):
    assert guess_language(dict.fromkeys(text.split(), 10), "english") == language


def test_english_is_not_taken_for_another_language():
    technical = [
        "Real-time strategy game of ancient warfare (data files)",
        "GNOME weather applet - shared library, development headers",
        "Python bindings for libfoo2 0.9.1 (x86_64)",
    ] * 40
    plain = ["The dog and the cat are in the house, and they have nothing to eat."] * 20
    names = [f"lib{name}-dev" for name in ("die", "la", "et", "foo", "bar", "qux")] * 40
    mixed = [*plain, TEXTS["german"], TEXTS["chinese"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for texts in (technical, plain, names, mixed, ["Der Hund"]):
            TextVectorizer().fit(texts)
    assert guess_language({"der": 10, "und": 9}, "english") is None  # too few to tell
    with pytest.warns(UserWarning, match="seems to be English"):
        TextVectorizer(language="german").fit(plain)
