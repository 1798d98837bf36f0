"""All commands in one application."""

from typing import Annotated

import typer

from quoth import __version__

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def _version(asked: bool) -> None:
    if asked:
        print(f"quoth {__version__}")
        raise typer.Exit


def _whole(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Answers questions from your own documents by quoting them, or says that there is no answer."""


def application() -> typer.Typer:
    """Return the application with every command group."""
    from quoth.cli import ask, data, evaluate, index, library, models, reproduce, score

    app = typer.Typer(
        name="quoth",
        callback=_whole,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=CONTEXT,
    )
    for command, name in (
        *index.COMMANDS,
        *ask.COMMANDS,
        *library.COMMANDS,
        *evaluate.COMMANDS,
        *reproduce.COMMANDS,
    ):
        app.command(name)(command)
    app.add_typer(library.config, name="config")
    app.add_typer(score.score, name="score")
    app.add_typer(evaluate.evaluate, name="eval")
    app.add_typer(data.app, name="data")
    app.add_typer(models.app, name="models")
    return app
