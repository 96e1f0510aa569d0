"""The matchers of a batch whose rows change places.

A library that generates hands over the tokens of all rows at each step, and no more. Beam search
reorders rows, drops some and doubles others, so a row is known by what it has said, never by its
number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tokenmold import Constraint, Matcher, fill_batch

from ._budget import Landing, room_of

_Said = tuple[int, tuple[int, ...]]


class Rows:
    """Follows the rows of one generation.

    ``constraints`` is one for all rows, or one for each sequence in their order: with beams, each holds
    for as many rows as there are beams.

    ``max_tokens`` is how many tokens each sequence may have, or that of each: every row counts by itself,
    and is complete by then. ``landing`` is that of :meth:`tokenmold.Constraint.matcher`.
    """

    def __init__(
        self,
        constraints: Constraint | Sequence[Constraint],
        ends: Iterable[int] | None = None,
        max_tokens: int | Sequence[int | None] | None = None,
        landing: Landing = "soft",
    ) -> None:
        self._constraints = [constraints] if isinstance(constraints, Constraint) else list(constraints)
        if not self._constraints:
            raise ValueError("there is no constraint: pass one for all sequences, or one for each")
        self._ends = None if ends is None else list(ends)
        self._rooms = self._rooms_of(max_tokens)
        self._landing: Landing = landing
        self._matchers: dict[_Said, Matcher | None] = {}
        self._prompt: Any = None
        self._length = 0

    def _rooms_of(self, max_tokens: int | Sequence[int | None] | None) -> list[int | None]:
        """How many tokens the rows of each constraint may have."""
        many = [max_tokens] if max_tokens is None or isinstance(max_tokens, int) else list(max_tokens)
        if len(many) == 1:
            many *= len(self._constraints)
        constraints = self._constraints * len(many) if len(self._constraints) == 1 else self._constraints
        if len(many) != len(constraints):
            raise ValueError(
                f"{len(constraints)} constraints and {len(many)} numbers of tokens: pass one for all, "
                "or one for each"
            )
        self._constraints = constraints
        return [
            None if tokens is None else room_of(constraint, tokens)
            for constraint, tokens in zip(constraints, many, strict=True)
        ]

    @property
    def constraint(self) -> Constraint:
        """The first constraint: all are for one vocabulary."""
        return self._constraints[0]

    def reset(self) -> None:
        """Forgets the rows: the next ones are prompts."""
        self._prompt = None
        self._matchers = {}

    def generated(self, tokens: Any) -> list[list[int]]:
        """What was generated of rows of tokens: what comes behind the first ones that were seen.

        Other rows, or rows that do not go on from these, are the prompts of another generation.
        ``tokens`` is a matrix of NumPy's, torch's or MLX's.
        """
        length = tokens.shape[1]
        goes_on = (
            self._prompt is not None
            and self._prompt.shape[0] == tokens.shape[0]
            and self._prompt.shape[1] < length <= self._length + 1
            and bool((tokens[:, : self._prompt.shape[1]] == self._prompt).all())
        )
        if not goes_on:
            self.reset()
            self._prompt = tokens
        self._length = length
        rows: list[list[int]] = tokens[:, self._prompt.shape[1] :].tolist()
        return rows

    def fill(self, generated: Sequence[Sequence[int]], mask: Any) -> None:
        """Writes a mask for each row.

        A row that has ended may end again, and nothing else: not every library stops at each token that
        ends a text. So may a row which took a token that it might not: beam search keeps beams that it
        has given up.
        """
        before, self._matchers = self._matchers, {}
        keys = [
            (row * len(self._constraints) // len(generated), tuple(tokens))
            for row, tokens in enumerate(generated)
        ]
        # How many go on from the same place: the last of them needs no copy.
        heirs = Counter((which, tokens[:-1]) for which, tokens in dict.fromkeys(keys))
        filled: dict[_Said, int] = {}
        live: list[tuple[Matcher, int]] = []
        # What must be the same as another row, or as no mask.
        same: list[tuple[int, int]] = []
        for row, said in enumerate(keys):
            if said in filled:
                same.append((row, filled[said]))
                continue
            filled[said] = row
            matcher = self._matchers[said] = self._follow(said, before, heirs)
            if matcher is None or matcher.is_terminated:
                mask[row] = 0
                for end in self._ends or self.constraint.vocabulary.ends:
                    mask[row, end // 32] |= _bit(end % 32)
            else:
                live.append((matcher, row))
        if live:
            fill_batch([matcher for matcher, _ in live], mask, [row for _, row in live])
        for row, other in same:
            mask[row] = mask[other]

    def _follow(
        self, said: _Said, before: dict[_Said, Matcher | None], heirs: Counter[_Said]
    ) -> Matcher | None:
        """The matcher behind these tokens; None where they break the constraint."""
        which, tokens = said
        parent = (which, tokens[:-1])
        if not tokens or parent not in before:
            matcher = self._constraints[which].matcher(
                self._ends, after_end="ignore", max_tokens=self._rooms[which], landing=self._landing
            )
            return matcher if matcher.accept_all(tokens) == len(tokens) else None
        found = before[parent]
        if found is None:
            return None
        heirs[parent] -= 1
        if heirs[parent]:
            found = found.copy()
        return found if found.accept(tokens[-1]) else None


def _bit(number: int) -> int:
    """One bit of an int32."""
    return 1 << number if number < 31 else -(1 << 31)
