"""Commits of git repositories: local clones, and URLs of which a mirror is kept in the cache."""

from __future__ import annotations

import functools
import hashlib
import re
import subprocess
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from slowdust.addresses import shown
from slowdust.builds import staging
from slowdust.builds.model import Progress
from slowdust.builds.revisions.revision import GIT, Revision, git
from slowdust.errors import SlowdustError, UsageError
from slowdust.places import cache_root, named_path
from slowdust.unpacking import Tree, inside

_URL = re.compile(r"[a-z][a-z0-9+]*://|[^/]+@[^/]+:")
_COMMIT = re.compile(r"[0-9a-f]{40}")


class Depth(Enum):
    """How much of a repository at a URL is fetched."""

    COMMIT = "commit"
    """The commit alone, where the repository gives it out."""
    HISTORY = "history"
    """All commits."""


def commit_of(repository: str | None, version: str, progress: Progress) -> Revision:
    """Return the commit that `git:REF` names in a repository.

    Raises UsageError without a repository, or when it has no such commit.
    """
    ref = version.removeprefix(GIT)
    if repository is None:
        raise UsageError(
            f"{version} needs a repository: give --repo a clone or a URL (`repo` in a file)"
        )
    folder, commit = located(repository, ref, Depth.COMMIT, progress)
    tree = git(folder, "rev-parse", f"{commit}^{{tree}}").strip()
    return Revision(
        place=repository if _is_url(repository) else str(folder),
        content=tree,
        export=functools.partial(_export, folder, commit),
        ref=ref,
        commit=commit,
        subject=git(folder, "log", "-1", "--format=%s", commit).strip(),
    )


def located(repository: str, ref: str, depth: Depth, progress: Progress) -> tuple[Path, str]:
    """Return the directory of a repository, a mirror for a URL, and the hash of a commit in it.

    Raises UsageError when it has no such commit.
    """
    check_repository(repository)
    if _is_url(repository):
        return _fetched(repository, ref, depth, progress)
    return _local(repository, ref)


def check_repository(repository: str) -> None:
    """Refuse an address with a password, or with the user of a web address, who may be a token.

    The address is stored with the results, and git shows it in process lists.

    Raises:
        UsageError: it has one. The message does not have it.
    """
    if _is_url(repository) and (hidden := shown(_as_address(repository))) != _as_address(
        repository
    ):
        raise UsageError(
            f"'{hidden}': a repository's address cannot have a user's password or token, which "
            "would be stored with the results: leave it out, and let git know it (git help "
            "credentials)"
        )


def _as_address(repository: str) -> str:
    if "://" in repository:
        return repository
    user, _, place = repository.rpartition("@")
    return f"ssh://{user}@{place.replace(':', '/', 1)}"


def _is_url(repository: str) -> bool:
    return _URL.match(repository) is not None


def _local(repository: str, ref: str) -> tuple[Path, str]:
    folder = named_path(repository).absolute()
    if not folder.is_dir():
        raise UsageError(f"{repository} is no clone of a repository: it does not exist")
    commit = _commit(folder, ref) or _commit(folder, f"origin/{ref}")
    if commit is None:
        raise UsageError(_no_commit(folder, ref))
    return folder, commit


def _commit(folder: Path, ref: str) -> str | None:
    """Return the hash of a commit; None when the repository has none of that name."""
    arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"]
    try:
        return git(folder, *arguments).strip()
    except SlowdustError:
        return None


def _no_commit(folder: Path, ref: str) -> str:
    git(folder, "rev-parse", "--git-dir")  # a directory that is no repository has git's message
    names = git(folder, "for-each-ref", "--count=8", "--sort=-creatordate", "--format=%(refname)")
    known = [name.split("/", 2)[2] for name in names.splitlines()]
    return f"{folder} has no commit {ref}; the newest names in it are {', '.join(known) or 'none'}"


def _fetched(url: str, ref: str, depth: Depth, progress: Progress) -> tuple[Path, str]:
    """Return the mirror of a URL and a commit in it, fetched where it may have moved."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", url).strip("-")[-40:]
    digest = hashlib.sha256(url.encode()).hexdigest()[:8]
    mirror = cache_root() / "repositories" / f"{name}-{digest}"
    with staging.lock(mirror, progress) as report:
        mirror.mkdir(exist_ok=True)
        git(mirror, "init", "--quiet", "--bare")  # does nothing where it is one already
        enough = depth is Depth.COMMIT or not (mirror / "shallow").exists()
        if enough and _COMMIT.fullmatch(ref) and (commit := _commit(mirror, ref)):
            return mirror, commit
        if depth is Depth.COMMIT:
            report(f"fetching {ref} of {url}")
            try:
                # The history is not needed, and long.
                git(mirror, "fetch", "--quiet", "--depth=1", "--", url, ref)
                return mirror, git(mirror, "rev-parse", "FETCH_HEAD^{commit}").strip()
            except SlowdustError:
                # Only names and whole hashes can be asked for; REF~1 needs the history.
                report(f"fetching all of {url}, which has no name {ref}")
        else:
            report(f"fetching all of {url}")
        unshallow = ["--unshallow"] if (mirror / "shallow").exists() else []
        git(mirror, "fetch", "--quiet", "--prune", *unshallow, "--", url, "+refs/*:refs/*")
        commit = _commit(mirror, ref)
    if commit is None:
        raise UsageError(f"{url} has no commit {ref}")
    return mirror, commit


def _export(repository: Path, commit: str, folder: Path) -> None:
    """Write the files of a commit into a new folder, with those of its submodules."""
    command = ["git", "archive", "--format=tar", commit]
    with subprocess.Popen(command, cwd=repository, stdout=subprocess.PIPE) as archive:
        assert archive.stdout is not None
        tree = Tree(folder)
        tree.add_stream(archive.stdout, f"commit {commit[:12]}")
        tree.finish()
        archive.stdout.read()  # what follows the archive's end
    if archive.returncode != 0:
        raise SlowdustError(f"git cannot export commit {commit[:12]} of {repository}")
    for path, linked in _submodules(repository, commit):
        _export(_submodule(repository, folder, path), linked, inside(folder, path))


def _submodules(repository: Path, commit: str) -> list[tuple[str, str]]:
    entries = git(repository, "ls-tree", "-r", "-z", "--full-tree", commit).split("\0")
    links = [entry.partition("\t") for entry in entries if entry.startswith("160000 ")]
    return [(path, left.split()[2]) for left, _, path in links]


def _submodule(repository: Path, folder: Path, path: str) -> Path:
    """Return the repository of a submodule, which lies in a clone that has checked it out."""
    settings = git(folder, "config", "--file", ".gitmodules", "--list").splitlines()
    names = [
        key.removeprefix("submodule.").removesuffix(".path")
        for key, _, value in (line.partition("=") for line in settings)
        if key.endswith(".path") and value == path
    ]
    directory = repository / git(repository, "rev-parse", "--git-common-dir").strip()
    module = inside(directory / "modules", names[0]) if names else None
    if module is None or not module.is_dir():
        raise SlowdustError(
            f"the submodule {path} is not in {repository}: give --repo a clone in which "
            "`git submodule update --init --recursive` was run"
        )
    return module


_FORMAT = "%H%x00%an%x00%aI%x00%s%x00"
_FIELDS = 4
_MOST_FILES = 30
"""Files of a commit that are listed."""


@dataclass(frozen=True)
class Commit:
    """What a repository says of a commit."""

    commit: str
    author: str
    date: str
    """The author's date, ISO 8601."""
    subject: str


def commits_between(
    repository: str, good: str, bad: str, progress: Progress
) -> tuple[Path, list[Commit]]:
    """Return the repository's directory and the commits from `good` to `bad`, the oldest first.

    Of a merge only the first parent counts, so that each commit follows from the one before it.

    Raises:
        UsageError: it has no such commits, or `good` is not among the first parents that led to
            `bad`.
    """
    folder, first = located(repository, good, Depth.HISTORY, progress)
    _, last = located(repository, bad, Depth.HISTORY, progress)
    if first == last:
        raise UsageError(f"{good} and {bad} are the same commit, {first[:12]}")
    listed = _logged(folder, "--reverse", f"{first}..{last}")
    if not listed:
        raise UsageError(f"{bad} ({last[:12]}) does not come after {good} ({first[:12]})")
    begin = git(folder, "rev-parse", f"{listed[0].commit}^").strip()
    if begin != first:
        raise UsageError(
            f"{good} ({first[:12]}) is not among the first parents that lead to {bad} "
            f"({last[:12]}): they leave its history at {_fork(folder, first, last)}, which can be "
            "the good one"
        )
    return folder, [*_logged(folder, "-1", first), *listed]


def newest_commit(repository: str, ref: str, progress: Progress) -> Commit:
    """Return the commit that a name of a repository leads to now.

    Raises:
        UsageError: it has no such commit.
    """
    folder, commit = located(repository, ref, Depth.HISTORY, progress)
    return _logged(folder, "-1", commit)[0]


def _logged(folder: Path, *arguments: str) -> list[Commit]:
    """Return commits as git lists them; of a merge only the first parent counts."""
    options = ("--first-parent", "--no-show-signature", f"--format={_FORMAT}")
    # Subjects may have characters that end lines elsewhere.
    fields = git(folder, "log", *options, *arguments).split("\0")[:-1]
    rows = zip(*[iter(fields)] * _FIELDS, strict=True)
    return [Commit(commit.lstrip("\n"), *rest) for commit, *rest in rows]


def _fork(folder: Path, first: str, last: str) -> str:
    theirs = set(git(folder, "rev-list", first).split())
    ours = git(folder, "rev-list", "--first-parent", last).split()
    return next((commit[:12] for commit in ours if commit in theirs), "no commit")


def diff_stat(folder: Path, commit: str) -> str:
    """Return the files that a commit changed, with the numbers of lines, as git prints them."""
    stat = ("--stat=100", f"--stat-count={_MOST_FILES}", "--no-color", "--no-show-signature")
    return git(folder, "show", *stat, "--format=", "--first-parent", "-m", commit).strip("\n")
