"""Taking pages out of a store, with those that were dropped in their favour."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING

from scrapy_simdedup.commands.stores import opened, records, store_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simdedup.commands.call import Call
    from scrapy_simdedup.store.base import Record

BATCH = 500
"""Records per step: others can use the store in between."""


async def forget(
    call: Call, site: str | None, choose: Callable[[Record], bool], *, originals: bool = False, dry_run: bool
) -> tuple[int, int]:
    """Take out the records that are chosen, and the repeats of their pages.

    Without its repeats nothing of a content is left, so that whichever of its URLs comes next is kept.

    Args:
        call: says which store.
        site: look at this site alone; None looks at all.
        choose: whether a record is to go.
        originals: whether the whole cluster goes: what a chosen record repeats, and better copies of that.
        dry_run: only count them.

    Returns:
        How many were chosen, and how many go with these.
    """
    pages: defaultdict[str, set[bytes]] = defaultdict(set)
    chosen: defaultdict[str, list[int]] = defaultdict(list)
    others: defaultdict[str, list[int]] = defaultdict(list)
    heirs: defaultdict[str, dict[bytes, bytes]] = defaultdict(dict)
    async with opened(store_url(call)) as store:
        async for home, record in records(call, store, site):
            if choose(record):
                chosen[home].append(record.id)
                pages[home].add(record.original if originals and record.original else record.key)
            if originals and record.original and record.state != "alias":
                heirs[home][record.key] = record.original
        for home, keys in pages.items():
            firsts = {heirs[home].get(key, key) for key in keys}
            keys.update(firsts, (heir for heir, first in heirs[home].items() if first in firsts))
            known = set(chosen[home])
            async for _, record in records(call, store, home):
                is_one = originals and record.key in keys
                is_repeat = record.state == "alias" and record.original in keys
                if (is_one or is_repeat) and record.id not in known:
                    others[home].append(record.id)
        for home in pages:
            ids = [] if dry_run else chosen[home] + others[home]
            for start in range(0, len(ids), BATCH):
                await store.forget(home, ids[start : start + BATCH], time.time())
    return sum(map(len, chosen.values())), sum(map(len, others.values()))


def said(chosen: int, others: int, *, dry_run: bool) -> list[str]:
    """What was done, as a line."""
    would = "would be forgotten" if dry_run else "are forgotten"
    return [
        f"{chosen:,} pages {would}, and {others:,} with the same content: the next run keeps what it meets of these"
    ]
