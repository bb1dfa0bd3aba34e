"""What to do with a URL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Action = Literal["go", "deprioritize", "skip"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What the learner advises about a URL, and why."""

    action: Action = "go"
    """``skip``: it leads to content that was fetched; ``deprioritize``: it probably does; ``go``: it may be new."""
    rules: tuple[str, ...] = ()
    """The rules behind the advice, such as ``query:sid``; with ``go``, the rules that the fetch is to verify."""
    pattern: str = ""
    """Where the rules were learned, such as ``viewtopic.php``, or ``**`` for the whole site."""
    site: str = ""
    page: int | None = None
    """Number of the fetched page that the URL stands for; ``UrlLearner.known_url`` tells its URL."""

    @property
    def skip(self) -> bool:
        """Whether the URL need not be fetched."""
        return self.action == "skip"


GO = Decision()
