"""The sources of a build: commits of repositories, directories and archives, and their trees.

Of a repository at a URL a mirror is kept in the cache.
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
from slowdust.builds.fingerprint import sha256_of
from slowdust.builds.model import Progress
from slowdust.builds.sources.client import SourceUnavailable, first_match, run_client
from slowdust.errors import SlowdustError, UsageError
from slowdust.places import cache_root, named_path
from slowdust.temporary import temporary_folder
from slowdust.unpacking import Tree, inside, open_to_all, unpack

GIT = "git:"
DIRECTORY = "source:"
"""What a version begins with that is compiled: `git:REF`, `source:DIRECTORY` or an archive."""


@dataclass(frozen=True)
class Revision:
    """Sources of one content."""

    place: str
    """The repository, directory or archive."""
    content: str
    """The hash of git's tree, or the SHA-256 of the files' names and contents."""
    export: Callable[[Path], None]
    """Writes the sources into a new folder."""
    ref: str | None = None
    """The name by which a commit was asked for; with the next two, None without a repository."""
    commit: str | None = None
    subject: str | None = None


def is_source(version: str) -> bool:
    return version.startswith((GIT, DIRECTORY))


_LAST_ERROR = first_match(r"(?s).*^((?:fatal|error):[^\n]*)")


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return its output; raise SlowdustError with git's own message."""
    command = ["git", "-c", "core.quotePath=off", *arguments]
    try:
        return run_client(command, folder, _LAST_ERROR)
    except SourceUnavailable as error:
        if shutil.which("git") is None:
            raise SlowdustError(
                "builds from a repository need git, which is not installed: install it, for "
                "example by `sudo apt install git`"
            ) from None
        raise SlowdustError(str(error)) from None


def sources_at(version: str) -> Revision:
    """Return the sources that `source:PATH` names, as they are now.

    Of a clone those files are taken that git would track. Raises UsageError when PATH does not
    exist.
    """
    path = named_path(version.removeprefix(DIRECTORY)).absolute()
    if path.is_file():
        content, export = sha256_of(path), functools.partial(_unpack, path)
    elif path.is_dir():
        files = _files(path)
        content, export = _content(path, files), functools.partial(_copy, path, files)
    else:
        raise UsageError(f"{path} is no directory or archive of sources: it does not exist")
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
            f"{path} is a submodule, of which a directory has no list of files: commit what you "
            "changed, and write DBMS@git:REF"
        )
    return path.is_file()


def _content(root: Path, names: list[str]) -> str:
    digest = hashlib.sha256()
    for name in names:
        path = root / name
        if path.is_symlink():
            content = f"link {path.readlink()}"
        else:
            content = f"{'program' if os.access(path, os.X_OK) else 'file'} {sha256_of(path)}"
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
    """Make the tree's sources those of a revision; files that stay the same are not touched.

    Files that change together get one time, since a repository has no times: a file that is
    generated from another, and stored beside it, must not look older.
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
    """How much of a repository at a URL is fetched."""

    COMMIT = "commit"
    """The commit alone, where the repository gives it out."""
    HISTORY = "history"


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
    folder = named_path(repository).absolute()
    if not folder.is_dir():
        raise UsageError(f"{repository} is no clone of a repository: it does not exist")
    commit = _commit(folder, ref) or _commit(folder, f"origin/{ref}")
    if commit is None:
        git(folder, "rev-parse", "--git-dir")  # a directory that is no repository has git's message
        names = git(
            folder, "for-each-ref", "--count=8", "--sort=-creatordate", "--format=%(refname)"
        )
        known = [name.split("/", 2)[2] for name in names.splitlines()]
        raise UsageError(
            f"{folder} has no commit {ref}; the newest names in it are {', '.join(known) or 'none'}"
        )
    return folder, commit


def check_repository(repository: str) -> None:
    """Refuse an address with a password, or with the user of a web address, who may be a token.

    The address is stored with the results, and git shows it in process lists. Raises UsageError if
    it has one. The message does not have it.
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


def _commit(folder: Path, ref: str) -> str | None:
    arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"]
    try:
        return git(folder, *arguments).strip()
    except SlowdustError:
        return None


def _fetched(url: str, ref: str, depth: Depth, progress: Progress) -> tuple[Path, str]:
    """Return the mirror of a URL and a commit in it, fetched where it may have moved."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", url).strip("-")[-40:]
    digest = hashlib.sha256(url.encode()).hexdigest()[:8]
    mirror = cache_root() / "repositories" / f"{name}-{digest}"
    with cache.lock(mirror, progress) as report:
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
    Raises UsageError if it has no such commits, or `good` is not among the first parents that led
    to `bad`.
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

    Raises UsageError if it has no such commit.
    """
    folder, commit = located(repository, ref, Depth.HISTORY, progress)
    return _logged(folder, "-1", commit)[0]


def _logged(folder: Path, *arguments: str) -> list[Commit]:
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
