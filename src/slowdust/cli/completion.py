"""Shell completion of experiments, builds and tests.

The functions are click's `shell_complete` of arguments and options: they get the beginning of a
word, and return the words that begin with it. They never fail, because a shell shows no errors.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

FROM = "from_stored"
"""Parameter that makes a command take stored experiments in place of builds."""
_BASH = """\
%(complete_func)s() {
    local line="${COMP_LINE:0:COMP_POINT}" IFS=$'\\n' type value kept
    # Bash breaks words at : = and @ too, and replaces only what follows, or begins with the @.
    kept="${line##*[[:space:]]}"
    kept="${kept%%"${COMP_WORDS[COMP_CWORD]}"}"
    kept="${kept%%@}"
    COMPREPLY=()
    while IFS=',' read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("${value#"$kept"}") ;;
        esac
    done < <(env COMP_WORDS="$line" %(complete_var)s=bash_complete "$1")
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class WholeWords(BashComplete):
    """Bash, with words that only blanks end: `postgres@17.6` is one word."""

    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the complete words of the line, and the beginning of the last."""
        line = os.environ["COMP_WORDS"]
        words = _words(line)[1:]
        if not line or line[-1].isspace() or not words:
            return words, ""
        return words[:-1], words[-1]


def _words(line: str) -> list[str]:
    """Return the words of a command line; the last one may have an open quote."""
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:
        words.append(lexer.token)
    return words


def support_shells() -> None:
    """Register this module's completion for bash; zsh and fish use click's."""
    add_completion_class(WholeWords)


def experiments(
    context: click.Context, parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Complete names of experiments that are not on the line yet, the newest first."""
    from slowdust.store.folder import experiments as stored

    used = context.params.get(parameter.name or "") or ()
    names = [folder.name for folder in stored(_results(context))]
    return _beginning(typed, (name for name in names if name not in used))


def builds(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete DBMS@VERSION from the catalog, the cache and the registered directories.

    A beginning with a dot or slash is a path.
    """
    del context, parameter
    from slowdust.builds import cache, directories
    from slowdust.builds.catalog import find_catalog, known_dbms

    if typed[:1] in {".", "/", "~"}:
        return [CompletionItem(typed, type="dir")]
    return _beginning(
        typed,
        (
            f"{dbms}@{version}"
            for dbms in known_dbms()
            for version in (
                *(entry.version for entry in reversed(find_catalog(dbms).entries)),
                *cache.versions(dbms),
                *directories.registered(dbms),
            )
        ),
    )


def builds_or_stored(
    context: click.Context, parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Complete names of experiments if the line has --from, else builds."""
    complete = experiments if context.params.get(FROM) else builds
    return complete(context, parameter, typed)


def tests(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the last test of a list, from the benchmark on the line."""
    del parameter
    from slowdust.benchmarks import BENCHMARKS, DEFAULT

    chosen = BENCHMARKS.get(str(context.params.get("benchmark")), DEFAULT)
    ahead, comma, last = typed.rpartition(",")
    names = (test.name for test in chosen.tests if test.name not in ahead.split(","))
    return [CompletionItem(f"{ahead}{comma}{item.value}") for item in _beginning(last, names)]


def tests_of_experiment(
    context: click.Context, parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Complete a test of the experiment on the line."""
    del parameter
    from slowdust.errors import SlowdustError
    from slowdust.store.experiments import find_experiment

    try:
        folder = find_experiment(_results(context), str(context.params.get("name")))
        return _beginning(typed, folder.read_manifest().tests)
    except SlowdustError:
        return []


def benchmarks(
    context: click.Context, parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Complete the name of a benchmark."""
    del context, parameter
    from slowdust.benchmarks import BENCHMARKS

    return _beginning(typed, BENCHMARKS)


def _results(context: click.Context) -> Path:
    """Return the results folder: by --results, its variable, or the default."""
    option = next(each for each in context.command.params if each.name == "results")
    results = context.params.get("results") or option.get_default(context)
    assert isinstance(results, str | Path)
    return Path(results)


def _beginning(typed: str, words: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(word) for word in dict.fromkeys(words) if word.startswith(typed)]
