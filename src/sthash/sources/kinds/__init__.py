"""Files that hold one document, or a few: from their bytes to texts, with a title and other metadata.

A reader takes the stream, the name of the file (for messages) and the encoding, and gives records: ``text``, and
``metadata`` with what else the file says. What cannot be read is a ValueError.
"""

from __future__ import annotations

from sthash.sources.kinds.archives import read_docx, read_epub, read_odt, read_pptx, read_xlsx
from sthash.sources.kinds.html import read_html
from sthash.sources.kinds.mail import read_mail, read_mailbox
from sthash.sources.kinds.markdown import read_markdown
from sthash.sources.kinds.notebook import read_notebook
from sthash.sources.kinds.pdf import read_pdf
from sthash.sources.kinds.plain import read_subtitles, read_text
from sthash.sources.kinds.reading import KindReader

KINDS: dict[str, KindReader] = {
    "txt": read_text,
    "md": read_markdown,
    "html": read_html,
    "ipynb": read_notebook,
    "eml": read_mail,
    "mbox": read_mailbox,
    "srt": read_subtitles,
    "docx": read_docx,
    "odt": read_odt,
    "pptx": read_pptx,
    "xlsx": read_xlsx,
    "epub": read_epub,
    "pdf": read_pdf,
}
