"""Languages through the whole product: build, search for a word inside a sentence, near-duplicates of the sentence."""

import warnings

import pytest

from sthash import Collection, TextOptions, TextVectorizer, near_duplicates
from support.factories import build_text_model

# Language: a sentence, the same with one character changed, a word inside it, other sentences.
SENTENCES = {
    "arabic": (
        "ذهب الطلاب إلى المدرسة الجديدة في الصباح الباكر",
        "ذهب الطلاب إلى المدرسة الحديدة في الصباح الباكر",
        "مدرسة",
        ["الطقس جميل جدا اليوم", "هذا الكتاب مفيد للقراء"],
    ),
    "burmese": (
        "မနက်ဖြန်ကျွန်တော်တို့ရန်ကုန်မြို့သို့သွားမည်",
        "မနက်ဖြန်ကျွန်တော်တို့ရန်ကုန်မြို့သို့သွားသည်",
        "ရန်ကုန်",
        ["ရာသီဥတုကောင်းသည်", "ဒီအစားအစာကအရသာရှိတယ်"],
    ),
    "chinese": (
        "我们明天去北京天安门广场看升旗仪式",
        "我们明天去北京天安门广场看降旗仪式",
        "天安门",
        ["今天的天气非常好适合散步", "这家餐厅的菜很好吃"],
    ),
    "english": (
        "The old houses in the small street of our town were sold last summer.",
        "The old houses in the smell street of our town were sold last summer.",
        "house",
        ["The weather is very nice today.", "He reads an interesting book."],
    ),
    "french": (
        "Les élèves ont visité le château de Versailles pendant les vacances de printemps.",
        "Les élèves ont visité le château de Versailles pendant les vacances de printamps.",
        "châteaux",
        ["Il fait très beau aujourd'hui.", "Elle lit un livre intéressant."],
    ),
    "german": (
        "Die alten Häuser in der kleinen Straße wurden im Sommer verkauft.",
        "Die alten Häuser in der kleinen Strafe wurden im Sommer verkauft.",
        "Haus",
        ["Das Wetter ist heute sehr schön.", "Er liest ein gutes Buch."],
    ),
    "hindi": (
        "पुराने बाज़ार की छोटी गली के मकान पिछली गर्मी में बेचे गए",
        "पुराने बाज़ार की मोटी गली के मकान पिछली गर्मी में बेचे गए",
        "मकान",
        ["आज मौसम बहुत अच्छा है", "वह एक किताब पढ़ रहा है"],
    ),
    "japanese": (
        "昨日は友達と一緒に東京タワーの近くで食事をしました",
        "今日は友達と一緒に東京タワーの近くで食事をしました",
        "東京タワー",
        ["雨が降っています", "この本はとても面白いと思う"],
    ),
    "khmer": (
        "ថ្ងៃស្អែកយើងនឹងទៅភ្នំពេញជាមួយគ្នា",
        "ថ្ងៃស្អែកយើងនឹងទៅភ្នំពេញជាមួយគ្នី",
        "ភ្នំពេញ",
        ["អាកាសធាតុល្អណាស់", "ម្ហូបនេះឆ្ងាញ់"],
    ),
    "korean": (
        "우리는 내일 서울에서 맛있는 불고기를 먹을 예정입니다",
        "우리는 매일 서울에서 맛있는 불고기를 먹을 예정입니다",
        "불고기",
        ["오늘은 날씨가 아주 좋습니다", "그 영화는 정말 재미있었다"],
    ),
    "lao": (
        "ມື້ອື່ນພວກເຮົາຈະໄປວຽງຈັນນຳກັນ",
        "ມື້ອື່ນພວກເຮົາຈະໃປວຽງຈັນນຳກັນ",
        "ວຽງຈັນ",
        ["ມື້ນີ້ອາກາດດີ", "ອາຫານແຊບຫຼາຍ"],
    ),
    "russian": (
        "Старые дома на маленькой улице нашего города были проданы прошлым летом.",
        "Старые дома на маленькой улике нашего города были проданы прошлым летом.",
        "дом",
        ["Сегодня очень хорошая погода.", "Он читает интересную книгу."],
    ),
    "thai": (
        "พรุ่งนี้เราจะไปเที่ยวกรุงเทพมหานครกับครอบครัวของเรา",
        "พรุ่งนี้เราจะไปเที่ยวกรุงเทพมหานครกับครอบครัวของเขา",
        "กรุงเทพ",
        ["วันนี้อากาศดีมาก", "อาหารร้านนี้อร่อย"],
    ),
}  # fmt: skip


@pytest.fixture(params=SENTENCES)
def collection(request, tmp_path):
    """A sentence, one that differs in one character, and others, in one language."""
    sentence, changed, _, others = SENTENCES[request.param]
    assert len(sentence) == len(changed)
    assert sum(one != other for one, other in zip(sentence, changed, strict=True)) == 1
    documents = [{"key": "sentence", "text": sentence}, {"key": "changed", "text": changed}, *others]
    with Collection.create(
        tmp_path / "some.sth", documents, text_options=TextOptions(language=request.param)
    ) as collection:
        assert collection.info()["language"] == request.param
        yield collection


def test_a_word_inside_a_sentence(collection):
    word = SENTENCES[collection.info()["language"]][2]
    for ranking in ("auto", "bm25", "cosine"):
        hits = collection.search(word, ranking=ranking)
        assert {hit.key for hit in hits[:2]} == {"sentence", "changed"}
        assert all(hit.score < hits[1].score / 2 for hit in hits[2:])
        assert hits.unknown == ()


def test_a_sentence_with_one_character_changed_is_a_near_duplicate(collection):
    assert near_duplicates(collection, threshold=0.5).groups == [["sentence", "changed"]]
    (hit, *_) = collection.search(key="sentence")
    assert hit.key == "changed"


def test_a_new_model_and_new_documents_keep_the_language(collection):
    language = collection.info()["language"]
    sentence, _, word, others = SENTENCES[language]
    collection.add([{"key": "new", "text": sentence}])
    collection.relearn()
    assert collection.info()["language"] == language
    assert {hit.key for hit in collection.search(word)[:3]} == {"sentence", "changed", "new"}
    assert collection.search(others[0])[0].text == others[0]


def test_accents_make_no_difference_on_wish(tmp_path):
    texts = ["Les élèves ont visité le château.", "Un café très étrange", "Le théâtre de l'été"]
    with Collection.create(
        tmp_path / "a.sth", texts, text_options=TextOptions(language="french", fold_accents=True)
    ) as collection:
        assert [hit.key for hit in collection.search("chateau")] == ["0"]
        assert [hit.key for hit in collection.search("THÉATRE")] == ["2"]
        collection.relearn()
        assert collection.info()["fold_accents"] is True
        assert [hit.key for hit in collection.search("eleve")] == ["0"]
    with Collection.create(tmp_path / "b.sth", texts, text_options=TextOptions(language="french")) as collection:
        assert [hit.key for hit in collection.search("chateau")] == ["0"]  # by its form
        assert collection.search("chateaux", correct=False) == []
        assert collection.info()["fold_accents"] is False


def test_words_that_say_what_a_text_is_about_are_found(tmp_path):
    texts = ["the system of two bills", "a fire in the front of the mill", "an interest in detail"]
    with Collection.create(tmp_path / "a.sth", texts) as collection:
        for word, key in (("system", "0"), ("two", "0"), ("fire", "1"), ("mill", "1"), ("detail", "2")):
            assert [hit.key for hit in collection.search(word)] == [key]
        assert collection.search("the system").ignored == ("the",)
        assert [hit.key for hit in collection.search("the of")] == ["1", "0"]
        collection.relearn()
        assert [hit.key for hit in collection.search("system")] == ["0"]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"language": "klingon"}, ValueError, "klingon"),
        ({"fold_accents": "yes"}, TypeError, "fold_accents='yes'"),
        ({"stemmer": "klingon"}, ValueError, "klingon"),
        ({"stop_words": 5}, TypeError, "stop_words=5"),
    ],
)
def test_languages_that_cannot_be(options, error, words):
    with pytest.raises(error, match=words):
        TextOptions(**options)


def test_text_options_that_cannot_be(tmp_path):
    model = build_text_model(["a ship", "a cat"] * 10)
    with pytest.raises(TypeError, match="the model has text options of its own"):
        Collection.create(tmp_path / "a.sth", ["a text"], model=model, text_options=TextOptions(language="german"))
    with pytest.raises(TypeError, match="analyzer is a callable"):
        Collection.create(tmp_path / "a.sth", ["a text"], text_options=TextVectorizer(analyzer=str.split))
    with pytest.raises(ValueError, match="klingon"):
        Collection.create(tmp_path / "a.sth", ["a text"], text_options=TextVectorizer(language="klingon"))
    with pytest.raises(TypeError, match="text_options"):
        Collection.create(tmp_path / "a.sth", ["a text"], text_options="german")
    assert not (tmp_path / "a.sth").exists()


def test_another_language_is_told(tmp_path):
    texts = [SENTENCES["german"][0], *SENTENCES["german"][3]] * 10
    with pytest.warns(UserWarning, match="language='german'"):
        Collection.create(tmp_path / "a.sth", texts).close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Collection.create(tmp_path / "b.sth", texts, text_options=TextOptions(language="german")).close()
        Collection.create(tmp_path / "c.sth", texts, text_options=TextOptions(language="none")).close()
