"""What a site adds to a page that also stands alone: links to the other pages, note and tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from markupsafe import Markup

from slowdust.report.html.environment import environment
from slowdust.store.keeping.annotation import Annotation

_PLACE = "<main>\n"
"""Where the layout of all pages has its content begin; nothing foreign is before it but the title,
which is escaped."""


@dataclass(frozen=True)
class Link:
    """A link to another page of the site."""

    href: str
    label: str


def link_to(path: str, label: str, place: str) -> Link:
    """Return the link to the page at `path`, from the one at `place`; both from the site's root."""
    return Link("../" * place.count("/") + quote(path), label)


def framed(page: str, links: Sequence[Link], annotation: Annotation | None = None) -> str:
    """Return a page with links, and a note and tags, above its content."""
    before, place, after = page.partition(_PLACE)
    if not place:
        raise ValueError("the page has no <main> for the site's links")
    strip = environment().get_template("frame.html").render(links=links, annotation=annotation)
    return "".join((before, place, Markup(strip), after))
