"""One of several processes that crawl the same documents at a time: judges its variant of each, in an order of its own.

    python race_worker.py STORE_URL WORKER DOCUMENTS

Prints the documents that it delivered. A worker whose name begins with "failing" delivers none of those it keeps.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.pages import page
from scrapy_simdedup import NearDuplicateDetector


async def work(store: str, worker: str, documents: int) -> list[int]:
    detector = NearDuplicateDetector(
        store, run="shared", worker=worker, on_store_error=lambda error: print(error, file=sys.stderr)
    )
    await detector.open()
    rng, delivered = random.Random(worker), []
    for number in rng.sample(range(documents), documents):
        await detector.heartbeat()  # on a busy machine all this may take longer than a lease
        fp = await detector.fingerprint(page(number, f"{worker} {number}"), url="https://shop.example/")
        while True:
            verdict = await detector.judge_page(detector.page_of(fp, url=f"https://shop.example/{number}?by={worker}"))
            if verdict.pending is None:
                break
            await asyncio.sleep(rng.uniform(0.001, 0.01))
        if verdict.is_duplicate:
            continue
        assert verdict.reason is None, verdict
        await asyncio.sleep(rng.uniform(0.0, 0.002))
        if worker.startswith("failing"):
            await detector.release(verdict.page)
        else:
            await detector.confirm(verdict.page)
            delivered.append(number)
    await detector.close()
    return delivered


if __name__ == "__main__":
    print(json.dumps(asyncio.run(work(sys.argv[1], sys.argv[2], int(sys.argv[3])))))
