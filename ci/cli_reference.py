"""Print docs/cli.md: every command's own help, so that the page cannot differ from the program."""

import contextlib
import io
import os

os.environ["COLUMNS"] = "100"
os.environ["TERM"] = "dumb"

PREFACE = """# Commands

Made by `make docs` from the commands' own help; a test compares the two.

Every command takes `--help`. Most take `--json` (one JSON object on stdout, with a `schema` and its version, and nothing
else there) and `--quiet`. Messages and progress go to stderr; bars are drawn on a terminal only. An index lives in
`.quoth/`, found from the current folder upwards as git finds its own, and made in the current one; `--index` names another.

| exit code | meaning |
|---|---|
| 0 | done; an honest "No answer" is 0 |
| 1 | a check failed, or `search` or `list` found nothing |
| 2 | a mistake of the user's: usage, empty or over-long question, missing file, no index here |
| 3 | partly done: some files failed |
| 4 | the index is unusable |
| 5 | a model is unusable |
| 6 | a server is unavailable |
| 7 | another process is writing |
| 130, 143 | interrupted, terminated |

Every error is one line on stderr: what, why, the way out. With `--json` stdout has
`{"schema": "quoth.error/1", "error": {"code", "message", "hint"}}` too. Anything else is a bug and shows its traceback.

Settings come from the command line, else the environment (`QUOTH_K=20`), else `quoth.toml` beside `.quoth/`, else
`~/.config/quoth/config.toml`; `quoth config show` prints each with its origin.

| setting | default | choices | meaning |
|---|---|---|---|
"""


def main() -> str:
    """Return the whole page."""
    from quoth import settings

    rows = [
        f"| `{row.name}` | `{row.default}` | {', '.join(row.choices)} | {row.help} |" for row in settings.TABLE
    ]
    parts = [PREFACE + "\n".join(rows)]
    parts += [f"## `quoth {' '.join(path)}`\n\n```\n{_help(path)}\n```" for path in _commands()]
    return "\n\n".join(parts) + "\n"


def _commands() -> list[list[str]]:
    from typer.main import get_command

    from quoth.cli.application import application

    root = get_command(application())
    found: list[list[str]] = []
    for name, command in sorted(root.commands.items()):  # type: ignore[attr-defined]  # the root is a group
        children = getattr(command, "commands", None)
        found += [[name, child] for child in sorted(children)] if children else [[name]]
    return found


def _help(path: list[str]) -> str:
    from quoth.cli import run

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        run([*path, "--help"])
    return "\n".join(line.rstrip() for line in printed.getvalue().strip().splitlines())


if __name__ == "__main__":
    print(main(), end="")
