"""Where a server is and how one is let in: ``opensearch://[user:pass@]host[:port][,host...]/name[?tls=1]``."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from quoth.errors import InputError

SCHEME = "opensearch://"
DEFAULT_PORT = 9200
_OPTIONS = frozenset({"tls", "verify", "ca", "partial"})
_FIELDS = frozenset({"text", "title", "id", "source"})
_META = "meta."
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,199}")
_YES, _NO = frozenset({"1", "true", "yes"}), frozenset({"0", "false", "no"})
_HINT = "Write opensearch://host:port/name, with ?tls=1 for TLS."


@dataclass(frozen=True, slots=True)
class Address:
    """One index on one cluster. Secrets are held for the connection alone: neither printed nor stored."""

    hosts: tuple[tuple[str, int], ...]
    index: str
    user: str = ""
    password: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    tls: bool = False
    verify: bool = True
    ca: str = ""
    partial: bool = False
    fields: Mapping[str, str] = field(default_factory=dict, hash=False)

    @classmethod
    def parse(cls, url: str, *, environment: Mapping[str, str] | None = None) -> "Address":
        """Return the address that *url* names, with what it lacks taken from the environment.

        ``QUOTH_OPENSEARCH_USER`` and ``_PASSWORD``, or ``_API_KEY``, or ``_TOKEN`` (bearer), and
        ``_CA`` (a PEM file). Several hosts of one cluster are separated by commas. Options:
        ``tls``, ``verify`` (0 accepts any certificate), ``ca``, ``partial`` (1 allows answers
        from some of the shards). ``text`` (and ``title``, ``id``, ``source``, ``meta.KEY``) map an
        existing index's fields. Raise ``InputError`` for anything that cannot be read.
        """
        variables = os.environ if environment is None else environment
        if not url.startswith(SCHEME):
            raise InputError(f"{_shown(url)} is not an OpenSearch address.", hint=_HINT)
        place, _, query = url[len(SCHEME) :].partition("?")
        authority, _, name = place.partition("/")
        login, at, hosts = authority.rpartition("@")
        user, _, password = login.partition(":")
        options = _options(query, url)
        index = unquote(name).strip("/")
        if not _NAME.fullmatch(index):
            raise InputError(
                f"{_shown(url)} names the index {index!r}; a name has lower-case letters, digits, '-', '_' and '.'.",
                hint=_HINT,
            )
        return cls(
            hosts=tuple(_host(part, url) for part in hosts.split(",")),
            index=index,
            user=unquote(user) if at else variables.get("QUOTH_OPENSEARCH_USER", ""),
            password=unquote(password) if at else variables.get("QUOTH_OPENSEARCH_PASSWORD", ""),
            api_key="" if at else variables.get("QUOTH_OPENSEARCH_API_KEY", ""),
            token="" if at else variables.get("QUOTH_OPENSEARCH_TOKEN", ""),
            tls=_flag(options, "tls", default=False, url=url),
            verify=_flag(options, "verify", default=True, url=url),
            ca=_ca(options.get("ca") or variables.get("QUOTH_OPENSEARCH_CA", "")),
            partial=_flag(options, "partial", default=False, url=url),
            fields={name: field for name, field in options.items() if name not in _OPTIONS},
        )

    @property
    def place(self) -> str:
        """The hosts, as messages name them."""
        return ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts)

    @property
    def headers(self) -> dict[str, str]:
        """The request headers that carry an API key or a bearer token."""
        if self.api_key:
            return {"authorization": f"ApiKey {self.api_key}"}
        return {"authorization": f"Bearer {self.token}"} if self.token else {}

    def __str__(self) -> str:
        options = [f"{k}={v}" for k, v in (("tls", "1" * self.tls), ("ca", self.ca)) if v]
        options += ["verify=0"] * (not self.verify) + ["partial=1"] * self.partial
        options += [f"{name}={field}" for name, field in self.fields.items()]
        return f"{SCHEME}{self.place}/{self.index}" + ("?" + "&".join(options) if options else "")


def _host(part: str, url: str) -> tuple[str, int]:
    match = re.fullmatch(
        r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<name>[^\s:/\[\]]+))(?::(?P<port>\d{1,5}))?", part
    )
    port = int(match["port"] or DEFAULT_PORT) if match else 0
    if match is None or not 0 < port < 65536:
        raise InputError(f"{_shown(url)} has no host and port that can be read ({part!r}).", hint=_HINT)
    return match["six"] or match["name"], port


def _options(query: str, url: str) -> dict[str, str]:
    options = dict(parse_qsl(query, keep_blank_values=True))
    known = _OPTIONS | _FIELDS
    unknown = [name for name in options if name not in known and not name.startswith(_META)]
    if unknown:
        raise InputError(
            f"{_shown(url)} has the option {unknown[0]!r}; there are {', '.join(sorted(known))}, {_META}KEY.",
            hint=_HINT,
        )
    if "text" not in options and any(name not in _OPTIONS for name in options):
        raise InputError(f"{_shown(url)} maps fields, but not the text.", hint="Add text=FIELD.")
    return options


def _flag(options: Mapping[str, str], name: str, *, default: bool, url: str) -> bool:
    value = options.get(name, "").lower()
    if not value and name not in options:
        return default
    if value in _YES or value in _NO:
        return value in _YES
    raise InputError(f"{_shown(url)}: {name} is {value!r}; it must be 1 or 0.")


def _ca(path: str) -> str:
    if path and not Path(path).is_file():
        raise InputError(f"The file of trusted certificates {path} does not exist.")
    return path


def _shown(url: str) -> str:
    """Return *url* without its login."""
    return re.sub(r"//[^/]*@", "//", url)
