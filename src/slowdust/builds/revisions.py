"""The sources of a build: commits of repositories, directories and archives, and their trees.

The cache keeps a mirror of each repository at a URL.
"""

from __future__ import annotations

import filecmp
import functools
import hashlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from slowdust.addresses import shown
from slowdust.builds import cache
from slowdust.builds.fingerprint import hash_file
from slowdust.builds.model import Progress
from slowdust.builds.sources.client import SourceUnavailable, first_match, run_client
from slowdust.errors import SlowdustError, UsageError
from slowdust.places import cache_root, named_path
from slowdust.temporary import temporary_folder
from slowdust.unpacking import Tree, inside, open_to_all, unpack

GIT = "git:"
DIRECTORY = "source:"
"""Prefixes of versions to compile: `git:REF`, `source:DIRECTORY`, `source:ARCHIVE`."""


@dataclass(frozen=True)
class Revision:
    """The sources of one build."""

    place: str
    """The repository, directory or archive."""
    content: str
    """The hash of git's tree, or the SHA-256 of the files' names and contents."""
    export: Callable[[Path], None]
    """Writes the sources into a new folder."""
    ref: str | None = None
    """The requested name of a commit; without a repository there is no ref, commit or subject."""
    commit: str | None = None
    subject: str | None = None


def is_source(version: str) -> bool:
    return version.startswith((GIT, DIRECTORY))


_LAST_ERROR = first_match(r"(?s).*^((?:fatal|error):[^\n]*)")


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return its output. Raises SlowdustError with git's message."""
    command = ["git", "-c", "core.quotePath=off", *arguments]
    try:
        return run_client(command, folder, _LAST_ERROR)
    except SourceUnavailable as error:
        if shutil.which("git") is None:
            raise SlowdustError(
                "builds from a repository need git, not installed here: run for example "
                "`sudo apt install git`"
            ) from None
        raise SlowdustError(str(error)) from None


def sources_at(version: str) -> Revision:
    """Return the current sources of `source:PATH`.

    In a clone these are the files that git does not ignore. Raises UsageError if PATH does not
    exist.
    """
    path = named_path(version.removeprefix(DIRECTORY)).absolute()
    if path.is_file():
        content, export = hash_file(path), functools.partial(_unpack, path)
    elif path.is_dir():
        files = _files(path)
        content, export = _content(path, files), functools.partial(_copy, path, files)
    else:
        raise UsageError(f"the sources {path} do not exist")
    return Revision(str(path), content, export)


def _files(root: Path) -> list[str]:
    if (root / ".git").exists():
        listed = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        names = {name for name in listed.split("\0") if name}
        return sorted(name for name in names if (root / name).is_symlink() or _is_file(root / name))
    found = (path for path in root.rglob("*") if path.is_symlink() or path.is_file())
    return sorted(str(path.relative_to(root)) for path in found)


def _is_file(path: Path) -> bool:
    if path.is_dir():
        raise SlowdustError(
            f"{path} is a submodule, which `source:` cannot build: commit your changes and write "
            "DBMS@git:REF"
        )
    return path.is_file()


def _content(root: Path, names: list[str]) -> str:
    digest = hashlib.sha256()
    for name in names:
        path = root / name
        if path.is_symlink():
            content = f"link {path.readlink()}"
        else:
            content = f"{'program' if os.access(path, os.X_OK) else 'file'} {hash_file(path)}"
        digest.update(f"{name}\0{content}\0".encode(errors="surrogateescape"))
    return digest.hexdigest()


def _copy(root: Path, names: list[str], folder: Path) -> None:
    for name in names:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, target, follow_symlinks=False)


def _unpack(archive: Path, folder: Path) -> None:
    with temporary_folder(folder.parent) as temporary:
        unpacked = temporary / "unpacked"
        unpack(archive, unpacked)
        content = list(unpacked.iterdir())
        alone = content[0] if len(content) == 1 and content[0].is_dir() else unpacked
        alone.rename(folder)


SOURCE = "source"
_INCOMING = "incoming"
_PROGRAM_MODE, _FILE_MODE = 0o755, 0o644


def update_tree(tree: Path, revision: Revision) -> None:
    """Change the tree's sources to a revision; do not touch unchanged files.

    All changed files get the same time: a stored file that is generated from another one must not
    be older than it.
    """
    incoming, source = tree / _INCOMING, tree / SOURCE
    shutil.rmtree(incoming, ignore_errors=True)
    revision.export(incoming)
    source.mkdir(exist_ok=True)
    now = time.time_ns()
    wanted = _paths(incoming)
    for name in sorted(_paths(source) - wanted):
        (source / name).unlink()
    for name in sorted(wanted):
        new, old = incoming / name, source / name
        if _same(new, old):
            continue
        old.parent.mkdir(parents=True, exist_ok=True)
        if not new.is_symlink():
            new.chmod(_PROGRAM_MODE if new.stat().st_mode & 0o100 else _FILE_MODE)
        os.utime(new, ns=(now, now), follow_symlinks=False)
        new.replace(old)
    shutil.rmtree(incoming)
    open_to_all(source)


def _paths(folder: Path) -> set[str]:
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def _same(new: Path, old: Path) -> bool:
    if new.is_symlink() or old.is_symlink():
        return new.is_symlink() and old.is_symlink() and new.readlink() == old.readlink()
    if not old.is_file() or (new.stat().st_mode ^ old.stat().st_mode) & 0o100:
        return False
    return filecmp.cmp(new, old, shallow=False)


_URL = re.compile(r"[a-z][a-z0-9+]*://|[^/]+@[^/]+:")
_COMMIT = re.compile(r"[0-9a-f]{40}")


class Depth(Enum):
    """How much of a repository at a URL to fetch."""

    COMMIT = "commit"
    """Only the commit, if the server allows it."""
    HISTORY = "history"


def find_commit(repository: str | None, version: str, progress: Progress) -> Revision:
    """Return the commit of `git:REF` in a repository.

    Raises UsageError without a repository or for an unknown commit.
    """
    ref = version.removeprefix(GIT)
    if repository is None:
        raise UsageError(
            f"{version} needs a repository: add --repo with a clone or a URL (`repo` in a file)"
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

    Raises UsageError for an unknown commit.
    """
    check_repository(repository)
    if _is_url(repository):
        return _fetched(repository, ref, depth, progress)
    folder = named_path(repository).absolute()
    if not folder.is_dir():
        raise UsageError(f"the repository {repository} does not exist")
    commit = _commit(folder, ref) or _commit(folder, f"origin/{ref}")
    if commit is None:
        git(folder, "rev-parse", "--git-dir")  # fails with git's message without a repository
        names = git(
            folder, "for-each-ref", "--count=8", "--sort=-creatordate", "--format=%(refname)"
        )
        known = [name.split("/", 2)[2] for name in names.splitlines()]
        raise UsageError(
            f"{folder} has no commit {ref}; its newest names are {', '.join(known) or 'none'}"
        )
    return folder, commit


def check_repository(repository: str) -> None:
    """Raise UsageError for an address with a password, or a web address with a user.

    The user may be a token. The address is stored with the results, and git shows it in process
    lists. The message does not contain the secret.
    """
    if _is_url(repository) and (hidden := shown(_as_address(repository))) != _as_address(
        repository
    ):
        raise UsageError(
            f"'{hidden}': a password or token in a repository's address would be stored with the "
            "results: remove it, and store it in git's credentials (git help credentials)"
        )


def _as_address(repository: str) -> str:
    if "://" in repository:
        return repository
    user, _, place = repository.rpartition("@")
    return f"ssh://{user}@{place.replace(':', '/', 1)}"


def _is_url(repository: str) -> bool:
    return _URL.match(repository) is not None


def _commit(folder: Path, ref: str) -> str | None:
    arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"]
    try:
        return git(folder, *arguments).strip()
    except SlowdustError:
        return None


def _fetched(url: str, ref: str, depth: Depth, progress: Progress) -> tuple[Path, str]:
    """Return the mirror of a URL and a commit in it; fetch names, which may have moved."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", url).strip("-")[-40:]
    digest = hashlib.sha256(url.encode()).hexdigest()[:8]
    mirror = cache_root() / "repositories" / f"{name}-{digest}"
    with cache.lock(mirror, progress) as report:
        mirror.mkdir(exist_ok=True)
        git(mirror, "init", "--quiet", "--bare")  # does nothing if it exists
        enough = depth is Depth.COMMIT or not (mirror / "shallow").exists()
        if enough and _COMMIT.fullmatch(ref) and (commit := _commit(mirror, ref)):
            return mirror, commit
        if depth is Depth.COMMIT:
            report(f"fetching {ref} of {url}")
            try:
                # The history is not needed.
                git(mirror, "fetch", "--quiet", "--depth=1", "--", url, ref)
                return mirror, git(mirror, "rev-parse", "FETCH_HEAD^{commit}").strip()
            except SlowdustError:
                # Servers accept only names and full hashes; REF~1 needs the history.
                report(f"fetching all of {url}, to look for {ref}")
        else:
            report(f"fetching all of {url}")
        unshallow = ["--unshallow"] if (mirror / "shallow").exists() else []
        git(mirror, "fetch", "--quiet", "--prune", *unshallow, "--", url, "+refs/*:refs/*")
        commit = _commit(mirror, ref)
    if commit is None:
        raise UsageError(f"{url} has no commit {ref}")
    return mirror, commit


def _export(repository: Path, commit: str, folder: Path) -> None:
    """Write the files of a commit and its submodules into a new folder."""
    command = ["git", "archive", "--format=tar", commit]
    with subprocess.Popen(command, cwd=repository, stdout=subprocess.PIPE) as archive:
        assert archive.stdout is not None
        tree = Tree(folder)
        tree.add_stream(archive.stdout, f"commit {commit[:12]}")
        tree.finish()
        archive.stdout.read()  # padding after the archive's end
    if archive.returncode != 0:
        raise SlowdustError(f"git cannot export commit {commit[:12]} of {repository}")
    for path, linked in _submodules(repository, commit):
        _export(_submodule(repository, folder, path), linked, inside(folder, path))


def _submodules(repository: Path, commit: str) -> list[tuple[str, str]]:
    entries = git(repository, "ls-tree", "-r", "-z", "--full-tree", commit).split("\0")
    links = [entry.partition("\t") for entry in entries if entry.startswith("160000 ")]
    return [(path, left.split()[2]) for left, _, path in links]


def _submodule(repository: Path, folder: Path, path: str) -> Path:
    """Return the repository of a submodule, in a clone that has checked it out."""
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
            f"the submodule {path} is not in {repository}: run `git submodule update --init "
            "--recursive` in a clone, and give it to --repo"
        )
    return module


_FORMAT = "%H%x00%an%x00%aI%x00%s%x00"
_FIELDS = 4
_MOST_FILES = 30


@dataclass(frozen=True)
class Commit:
    """A commit of a repository."""

    commit: str
    author: str
    date: str
    """The author's date, ISO 8601."""
    subject: str


def commits_between(
    repository: str, good: str, bad: str, progress: Progress
) -> tuple[Path, list[Commit]]:
    """Return the repository's directory and the commits from `good` to `bad`, the oldest first.

    Only first parents of merges are followed, so that each commit is a change to the one before it.
    Raises UsageError for unknown commits, or if `good` is not on the first-parent history of `bad`.
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
            f"{good} ({first[:12]}) is not on the first-parent history of {bad} ({last[:12]}): "
            f"choose the commit where they fork, {_fork(folder, first, last)}, as the good one"
        )
    return folder, [*_logged(folder, "-1", first), *listed]


def newest_commit(repository: str, ref: str, progress: Progress) -> Commit:
    """Return a name's current commit in a repository. Raises UsageError for an unknown name."""
    folder, commit = located(repository, ref, Depth.HISTORY, progress)
    return _logged(folder, "-1", commit)[0]


def _logged(folder: Path, *arguments: str) -> list[Commit]:
    options = ("--first-parent", "--no-show-signature", f"--format={_FORMAT}")
    # Subjects may contain other line separators.
    fields = git(folder, "log", *options, *arguments).split("\0")[:-1]
    rows = zip(*[iter(fields)] * _FIELDS, strict=True)
    return [Commit(commit.lstrip("\n"), *rest) for commit, *rest in rows]


def _fork(folder: Path, first: str, last: str) -> str:
    theirs = set(git(folder, "rev-list", first).split())
    ours = git(folder, "rev-list", "--first-parent", last).split()
    return next((commit[:12] for commit in ours if commit in theirs), "no commit")


def diff_stat(folder: Path, commit: str) -> str:
    """Return git's list of the files that a commit changed, with numbers of lines."""
    stat = ("--stat=100", f"--stat-count={_MOST_FILES}", "--no-color", "--no-show-signature")
    return git(folder, "show", *stat, "--format=", "--first-parent", "-m", commit).strip("\n")
