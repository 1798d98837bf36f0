"""How much is read for a question: one row for each profile."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Profile:
    """A reader and a number of tokens (windows added up, question and special tokens included).

    ``others`` holds the tokens that cost about the same with another shipped reader: one of
    12 layers costs twice as much a token as one of 6.
    """

    name: str
    reader: str
    tokens: int
    others: Mapping[str, int] = field(default_factory=dict)

    def tokens_for(self, reader: str) -> int:
        """Return the tokens to read with *reader*; one that is not shipped gets the row's own number."""
        return self.tokens if reader == self.reader else self.others.get(reader, self.tokens)


PROFILES: Mapping[str, Profile] = {
    row.name: row
    for row in (
        Profile("fast", "small", 500, {"large": 250}),
        Profile("balanced", "large", 750, {"small": 1500}),
        Profile("thorough", "large", 2000, {"small": 4000}),
    )
}
