"""The tl;dr: what the verdicts mean, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from slowdust.analysis.model import Result


def tell(
    results: Sequence[Result], contenders: Sequence[str], failures: Mapping[str, str]
) -> list[str]:
    """Sentences about each contender other than the base, `contenders[0]`."""
    base, *others = contenders
    sentences = []
    for name in others:
        counts = Counter(result.verdict for result in results if result.contender == name)
        sentences.append(f"From {base} to {name}: {counts['faster']} faster")
    return sentences
