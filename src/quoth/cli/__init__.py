"""The ``quoth`` command: parse, call, print. One file for each group of commands."""

import os
import signal
import sys
from types import FrameType

INTERRUPTED, TERMINATED = 130, 143


def main() -> None:
    """Run the command line and exit with the code of what happened (docs/cli.md lists them)."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code. Anything that is not ours is a bug, and is raised."""
    from typer.exceptions import TyperException

    from quoth.cli.application import application
    from quoth.cli.output import fail
    from quoth.errors import InputError, QuothError

    as_json = "--json" in arguments
    previous = signal.signal(signal.SIGTERM, _terminate)
    try:
        code = application()(arguments, prog_name="quoth", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except QuothError as error:
        fail(error, as_json=as_json)
        return error.exit_code
    except TyperException as error:
        where = getattr(getattr(error, "ctx", None), "command_path", "quoth")
        message = error.format_message().rstrip(".") or "the command line is incomplete"
        stop = "" if message.endswith("?") else "."
        fail(
            InputError(f"{message}{stop}", hint=f"`{where} --help` shows how.", code="usage"), as_json=as_json
        )
        return 2
    except (BrokenPipeError, SystemExit) as ending:
        # The reader of our output (head, less) went away: nothing more to say, and nothing wrong.
        # Typer sees it first where it comes while a command prints, and makes an exit with 1 of it.
        if isinstance(ending, SystemExit) and not isinstance(ending.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except _Terminated:
        return TERMINATED
    finally:
        signal.signal(signal.SIGTERM, previous)


class _Terminated(BaseException):
    """SIGTERM arrived: unwind, so that batches roll back and locks are released."""


def _terminate(number: int, frame: FrameType | None) -> None:
    raise _Terminated
