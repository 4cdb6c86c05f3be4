"""Groups of commands that are loaded when one of them is called."""

from __future__ import annotations

import click

from slowdust.wording import no_such


class LazyGroup(click.Group):
    """A group whose `list_commands` names commands that are not loaded yet."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; the error for an unknown one has the nearest, which click cannot know.

        Click looks for it among the commands that are loaded.
        """
        names = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in names:
            raise click.UsageError(no_such("command", args[0], names), ctx)
        return super().resolve_command(ctx, args)
