"""`slowdust serve`: all experiments in a browser of this machine."""

from __future__ import annotations

from pathlib import Path

import click

from slowdust.cli.options import options

_PORT = 8017


@click.command(
    "serve",
    params=options("serve", "port results"),
)
def command(port: int, results: Path) -> None:
    """Serve the pages of `slowdust site` to browsers of this machine, until Ctrl-C.

    The pages are made when they are asked for, so that they are of the experiments as they are now.
    Any two experiments can be compared. It listens on 127.0.0.1 alone and writes nothing.
    """
    from slowdust.report.site.server import Server
    from slowdust.store.folder import experiments
    from slowdust.wording import counted

    with Server(results, port) as server:
        try:
            click.echo(f"reading {counted(len(experiments(results)), 'experiment')} of {results}")
            server.read_all()
            click.echo(f"serving them at {server.url}, until Ctrl-C")
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo("\nended")
