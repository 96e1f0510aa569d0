"""The tokens that an answer may have, as engines count them.

An engine counts every token of a request, thoughts that no constraint binds among them. So the number
that is left is asked of the request at each step, and told to the matcher.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from tokenmold import Constraint, Matcher

__all__ = ["Budget", "BudgetOptions", "room_of"]

Landing = Literal["soft", "hard"] | int


class BudgetOptions:
    """How answers end, by the settings of an engine or a request.

    ``budget`` is ``"complete"`` (an answer is complete within the tokens of its request) or ``"cut"`` (it ends where
    the engine cuts it); ``landing`` is that of :meth:`tokenmold.Constraint.matcher`.
    """

    def __init__(self, complete: bool = True, landing: Landing = "soft") -> None:
        self.complete = complete
        self.landing = landing

    @staticmethod
    def of(settings: Mapping[str, Any] | None) -> BudgetOptions:
        """Raises ``ValueError`` for what is none of the words."""
        if settings is None:
            return BudgetOptions()
        if not isinstance(settings, Mapping):
            raise ValueError(f'the settings are an object, such as {{"budget": "cut"}}, not {settings!r}')
        budget = settings.get("budget", "complete")
        landing = settings.get("landing", "soft")
        if budget not in ("complete", "cut"):
            raise ValueError(f'`budget` is "complete" or "cut", not {budget!r}')
        is_number = isinstance(landing, int) and not isinstance(landing, bool) and landing >= 0
        if landing not in ("soft", "hard") and not is_number:
            raise ValueError(f'`landing` is "soft", "hard" or a number of tokens, not {landing!r}')
        return BudgetOptions(budget == "complete", landing)


def room_of(constraint: Constraint, tokens: int) -> int:
    """The tokens that a text may have where an engine stops at ``tokens``, the one that ends it counted.

    The end gets one, so that the engine sees the text end by itself, unless the shortest text needs all.
    Raises ``ValueError`` if the shortest text takes more.
    """
    needed = constraint.tokens_needed or 0
    if needed > tokens:
        raise ValueError(
            f"the shortest text takes {needed} tokens and one to end it, and {tokens} may come; "
            f"allow {needed + 1}"
        )
    return max(tokens - 1, needed)


class Budget:
    """Tells a matcher at each step how many tokens its request has left.

    ``left`` asks the engine, which counts the token that ends the text, too. Between two steps a matcher
    may have gone on by itself: by drafted tokens, which the engine does not count yet.
    """

    def __init__(
        self, matcher: Matcher, constraint: Constraint, left: Callable[[], int], landing: Landing = "soft"
    ) -> None:
        self._matcher = matcher
        self._left = left
        self._seen: int | None = None
        self._taken = 0
        # One token is kept for the end, if the shortest answer leaves it.
        needed = constraint.tokens_needed or 0
        self._kept = 1 if needed < left() else 0
        self.tell()
        matcher.set_landing(landing)

    def tell(self) -> None:
        """Before a mask is asked for, and before drafts are."""
        left = self._left()
        if left != self._seen:
            self._seen, self._taken = left, len(self._matcher)
        drafted = len(self._matcher) - self._taken
        self._matcher.tokens_left = max(left - self._kept - drafted, 0)
