"""`slowdust`: runs the commands; errors become one line and an exit code."""

from __future__ import annotations

import codecs
import errno
import io
import os
import re
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType

import click

from slowdust.addresses import hide_argument_secrets
from slowdust.cli.commands import Commands, load
from slowdust.errors import SlowdustError
from slowdust.text import visible

_LONGEST_COMPLAINT = 2000
"""Maximum number of characters of an error message."""
_SURROGATES = re.compile(r"[\ud800-\udfff]")
"""Surrogates: bytes of an argument, a variable or a path that are not UTF-8."""
_QUOTED_BYTE = re.compile(r"\\udc(?=[89a-f][0-9a-f])")
"""The beginning of a single byte (PEP 383) as `repr` writes it."""
_UNPRINTABLE = "slowdust-unprintable"
"""Name of the error handler for characters that cannot be encoded."""
_COMPLETING = "_SLOWDUST_COMPLETE"
"""A shell sets this variable to ask for completions."""


def _show_version(context: click.Context, option: click.Parameter, chosen: bool) -> None:  # noqa: FBT001
    del option
    if chosen and not context.resilient_parsing:
        click.echo(load("version:version_text")())
        context.exit()


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: slowdust compare postgres@15.8 postgres@17.6",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and the schemas of stored files.",
)
def cli() -> None:
    """Compare database servers: which operations got slower, how certain is that, and why?

    Slowdust runs the contenders side by side, measures them in short alternating slices, and
    gives each test a verdict: faster, slower, same (within the margin) or unsure.
    """


class _Terminated(BaseException):
    """SIGTERM or SIGHUP. Like Ctrl-C, it stops the servers and removes their files."""


def _terminate(number: int, frame: FrameType | None) -> None:
    del frame
    raise _Terminated(signal.Signals(number).name)


def main() -> None:
    """Run the command line and exit: 0 done, 1 failed, 2 wrong use, 3 a gate or a check failed."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminate)
    _reopen_closed()
    _write_utf8()
    sys.exit(_run())


def _reopen_closed() -> None:
    """Reopen closed standard streams on /dev/null, so that their descriptors are not reused."""
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDWR)
            if nothing != number:
                os.dup2(nothing, number)
                os.close(nothing)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


def _write_utf8() -> None:
    """Write UTF-8 to files and pipes in every locale; a terminal gets '?' for unknown characters.

    Bytes of arguments and paths that are not UTF-8 are printed as `\\xff`.
    """
    codecs.register_error(_UNPRINTABLE, _printable)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors=_UNPRINTABLE)


def _printable(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return the replacement of the first wrong character, and the position after it."""
    assert isinstance(error, UnicodeEncodeError)
    letter = error.object[error.start]
    if "\udc80" <= letter <= "\udcff":  # PEP 383
        return f"\\x{ord(letter) - 0xDC00:02x}", error.start + 1
    return "?", error.start + 1


def _run() -> int:
    if _COMPLETING in os.environ:
        load("completion:support_shells")()
    try:
        code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        text = io.StringIO()
        error.show(text)
        _print(text.getvalue().rstrip("\n"))
        return 2
    except SlowdustError as error:
        _complain(str(error))
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        _complain("stopped")
        return 1
    except _Terminated as error:
        _complain(f"stopped by {error}")
        return 1
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except OSError as error:
        _complain(_describe(error))
        return 2 if error.errno == errno.ENAMETOOLONG else 1
    except UnicodeEncodeError as error:
        if not _SURROGATES.search(error.object):
            raise
        _complain(_not_utf8())
        return 2
    return code if isinstance(code, int) else 0


def _describe(error: OSError) -> str:
    """Return an error of the system as a sentence, with its file and a remedy."""
    where = f"{error.filename}: " if error.filename else ""
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        reason += " (free some space there, and try again)"
    return f"{where}{reason}"


def _complain(text: str) -> None:
    if len(text) > _LONGEST_COMPLAINT:  # such as the path of thousands of nested folders
        text = f"{text[: _LONGEST_COMPLAINT // 2]} ... {text[-_LONGEST_COMPLAINT // 2 :]}"
    _print(f"slowdust: {visible(text)}")


def _print(message: str) -> None:
    """Print an error without the secrets of addresses."""
    text = hide_argument_secrets(message, sys.argv[1:])
    print(_QUOTED_BYTE.sub(r"\\x", text), file=sys.stderr)


def _not_utf8() -> str:
    """Return an error that names the text that is not UTF-8; JSON and TOML cannot have it."""
    texts = {f"the argument '{word}'": word for word in sys.argv[1:]}
    texts |= {f"the environment variable {name}": text for name, text in os.environ.items()}
    with suppress(FileNotFoundError):
        texts["the path of the working directory"] = str(Path.cwd())
    what = next((name for name, text in texts.items() if _SURROGATES.search(text)), "a name")
    return f"{what} is not UTF-8; use names in UTF-8"
