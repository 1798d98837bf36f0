"""Everything that quoth raises on purpose. Each class has the exit code of its kind.

::

    QuothError
    +-- InputError            2  a question, option, file or folder is wrong or missing
    |   +-- DocumentError     2  one document cannot be read (code: encrypted, corrupt, ...)
    |   +-- MissingExtraError 2  an optional part is not installed; the message names the extra
    +-- CheckError            1  a check that was asked for failed
    +-- IndexUnusableError    4  the index is damaged, full, unwritable or of another format
    +-- ModelError            5  a model's files are missing, damaged or of a wrong kind
    +-- BackendError          6  a server we depend on did not answer, or answered wrongly
    +-- BusyError             7  another process is writing

A message carries the value, the rule and, as ``hint``, the way out.
"""

from typing import ClassVar


class QuothError(Exception):
    """Base of all errors that a caller can be expected to handle."""

    exit_code: ClassVar[int] = 2
    code: str = "error"

    def __init__(self, message: str, *, hint: str = "", code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code or type(self).code

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class InputError(QuothError, ValueError):
    """The caller handed in something that cannot be worked on."""

    code = "bad_input"


class DocumentError(InputError):
    """One document cannot be read; ``code`` is stable and says why."""

    code = "unreadable"


class MissingExtraError(InputError, ImportError):
    """An optional dependency is needed; the hint says what to install."""

    code = "missing_extra"


class CheckError(QuothError):
    """A check failed."""

    exit_code = 1
    code = "check_failed"


class IndexUnusableError(QuothError):
    """The index cannot be used as it is."""

    exit_code = 4
    code = "index_unusable"


class ModelError(QuothError):
    """A model cannot be used."""

    exit_code = 5
    code = "model_unusable"


class BackendError(QuothError):
    """A server did not do its part."""

    exit_code = 6
    code = "backend_unavailable"


class BusyError(QuothError):
    """Another process holds the index for writing."""

    exit_code = 7
    code = "busy"
