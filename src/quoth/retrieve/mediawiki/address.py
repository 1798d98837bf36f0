"""Which wiki, and how its articles are taken: ``wikipedia:en``, ``mediawiki:https://host/w/api.php#full``."""

import re
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import urlsplit

from quoth.errors import InputError

Mode = Literal["sections", "summary", "full"]
"""What of an article is handed on: its best sections, its lead alone, or all of it."""

_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z]{2,10}){0,3}|simple")
_HINT = "Write wikipedia:en, or mediawiki:https://host/w/api.php; #summary, #full or #sections may follow."


@dataclass(frozen=True, slots=True)
class WikiAddress:
    """The address of a wiki's API, and the mode."""

    api: str
    mode: Mode = "sections"

    @classmethod
    def parse(cls, address: str) -> "WikiAddress":
        """Return what *address* names. Raise ``InputError`` for anything that cannot be read."""
        kind, _, rest = address.partition(":")
        place, _, fragment = rest.partition("#")
        mode = fragment or "sections"
        if mode not in get_args(Mode):
            raise InputError(f"{address}: there is no mode {mode!r}.", hint=_HINT)
        if kind == "wikipedia":
            if not _LANGUAGE.fullmatch(place):
                raise InputError(f"{address}: {place!r} is no language of Wikipedia.", hint=_HINT)
            return cls(f"https://{place}.wikipedia.org/w/api.php", mode)  # type: ignore[arg-type]  # checked above
        parts = urlsplit(place)
        if kind != "mediawiki" or parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"{address} is not the address of a wiki.", hint=_HINT)
        if not parts.path.endswith("api.php") or parts.query:
            raise InputError(
                f"{address} does not end in api.php, which is what programs talk to.",
                hint="The wiki's page Special:Version names it under 'Entry point URLs'.",
            )
        if parts.username or parts.password:
            raise InputError(
                "An address of a wiki holds no login.", hint="Set QUOTH_MEDIAWIKI_TOKEN (OAuth)."
            )
        return cls(place, mode)  # type: ignore[arg-type]  # checked above

    @property
    def place(self) -> str:
        """Host and port, as ids and messages name the wiki."""
        return urlsplit(self.api).netloc
