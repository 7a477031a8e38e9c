"""The pictures of the page about the method show what the code of that page computes."""

import numpy as np

from support.components import require
from support.pages import ROOT, blocks, runner


def test_the_pictures_are_of_the_run_on_the_page(tmp_path, capsys):
    require("Matplotlib")
    import method_pictures

    text = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
    with runner("docs/method.md", tmp_path, capsys) as page:
        for block in blocks(text):
            page.run(block)
    drawn = method_pictures.run()
    assert drawn.labels.tolist() == page.names["labels"].tolist()
    np.testing.assert_array_equal(drawn.graph.toarray(), page.names["graph"].toarray())
    np.testing.assert_array_equal(drawn.embedding, page.names["embedding"])
    np.testing.assert_array_equal(drawn.bits, page.names["bits"])
    np.testing.assert_array_equal(drawn.distances, page.names["distances"])
    method_pictures.main(tmp_path)
    for name in method_pictures.PICTURES:
        assert (tmp_path / f"{name}.svg").read_text(encoding="utf-8").endswith("</svg>\n")
        assert (ROOT / "docs" / "images" / f"{name}.svg").is_file()
        assert f"images/{name}.svg" in text
