"""A site's knowledge as bytes, for the next run or another worker."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.urls.evidence import Evidence
from scrapy_simdedup.urls.hypotheses import Part
from scrapy_simdedup.urls.noise import Dispute
from scrapy_simdedup.urls.site import Site
from scrapy_simdedup.urls.sorted_map import SortedMap, from_bytes, to_bytes
from scrapy_simdedup.urls.url_log import UrlLog

if TYPE_CHECKING:
    from scrapy_simdedup.urls.hypotheses import Hypotheses, Hypothesis
    from scrapy_simdedup.urls.keyed import KeyedHash

VERSION = 2
"""Changes whenever the meaning of a dump does."""

_PLAIN = ("version", "doubtful", "fetched", "skipped")


def site_to_bytes(site: Site) -> bytes:
    """All that is known of a site."""
    return zlib.compress(json.dumps(_site(site)).encode(), 1)


def site_from_bytes(dumped: bytes, hashed: KeyedHash) -> Site:
    """What was dumped.

    Raises:
        ValueError: the bytes are no dump, or one made with another key.
    """
    try:
        data = json.loads(zlib.decompress(dumped))
        version, check = data["state"], data["check"]
    except (zlib.error, ValueError, KeyError, TypeError) as exc:
        raise ValueError("these bytes are no dump of a URL learner") from exc
    if version != VERSION:
        raise ValueError(f"this dump has version {version}, not {VERSION}: forget it and learn anew")
    if check != hashed("check"):
        raise ValueError("this dump was made with another key: give the learner the key it was made with")
    return _load(data, hashed)


def _site(site: Site) -> dict[str, Any]:
    index, contents, skips, noise, known = site.index, site.contents, site.skips, site.noise, site.hypotheses
    return {
        "state": VERSION,
        "check": site.hash("check"),
        "site": [site.name, site.scheme, site.host, site.chance.state],
        "plain": [getattr(site, name) for name in _PLAIN],
        "parts": [[part.name, part.randomness, list(part.sights.values())] for part in known.parts.values()],
        "hypotheses": [[h.names, h.value, h.shift] for h in known.all],
        "hinted": sorted(h.number for h in known.hinted),
        "words": [[parent, list(words)] for parent, words in site.tree.words.items()],
        "leaves": list(site.tree.leaves),
        "patterns": [
            [p.name, list(p.parts), [[h.number, _evidence(e)] for h, e in p.evidence.items()]]
            for p in site.tree.patterns.values()
        ],
        "index": [_packed(bytes(index.entries)), _packed(bytes(index.tags)), [_numbers(a) for a in index.assumed]],
        "contents": [_packed(bytes(contents.book)), contents.latest, contents.unexplained,
                     list(contents.verified.items()), sorted(contents.failed)],
        "noise": [noise.proven, noise.share,
                  [[bare, [_dispute(d) for d in found]] for bare, found in noise.disputes.items()],
                  [[leaf.name, h.number, sorted(r.number for r in why)] for leaf, h, why in noise.excuses]],
        "pages": _log(site.pages),
        "skips": [_log(skips.urls), [_packed(to_bytes(chain)) for chain in skips.before],
                  _packed(bytes(skips.given)), skips.waiting],
        "chains": [[leaf.name, [[_numbers(rules), latest] for rules, latest in chains.items()]]
                   for leaf, chains in site.chains.items()],
        "firsts": _packed(bytes(site.firsts)),
    }  # fmt: skip


def _load(data: dict[str, Any], hashed: KeyedHash) -> Site:
    name, scheme, host, chance = data["site"]
    site = Site(name, scheme, host, hashed)
    site.chance.state = chance
    for plain, value in zip(_PLAIN, data["plain"], strict=True):
        setattr(site, plain, value)
    _load_hypotheses(site.hypotheses, data)
    everything = site.hypotheses.all
    site.tree.words = {parent: dict.fromkeys(words) for parent, words in data["words"]}
    for leaf in data["leaves"]:
        site.tree.add(leaf)
    patterns = {name: site.tree.pattern(name) for name, _, _ in data["patterns"]}
    site.tree.patterns = patterns
    for name, parts, found in data["patterns"]:
        patterns[name].parts = dict.fromkeys(parts)
        patterns[name].evidence = known = {everything[number]: _load_evidence(evidence) for number, evidence in found}
        site.in_force.update(h for h, evidence in known.items() if evidence.holds)
    entries, tags, assumed = data["index"]
    site.index.entries, site.index.tags = _map(entries), _map(tags)
    site.index.assumed = [tuple(everything[number] for number in numbers) for numbers in assumed]
    site.index.numbers = {rules: number for number, rules in enumerate(site.index.assumed)}
    book, site.contents.latest, site.contents.unexplained, verified, failed = data["contents"]
    site.contents.book, site.contents.verified, site.contents.failed = _map(book), dict(verified), set(failed)
    site.noise.proven, site.noise.share, disputes, excuses = data["noise"]
    for bare, found in disputes:
        site.noise.disputes[bare] = [_load_dispute(site, dispute) for dispute in found]
    for leaf, number, why in excuses:
        site.noise.excuse(patterns[leaf], everything[number], (everything[reason] for reason in why))
    site.pages = _load_log(data["pages"])
    urls, before, given, waiting = data["skips"]
    site.skips.urls = _load_log(urls)
    first, second = (from_bytes("I", _unpacked(chain)) for chain in before)
    site.skips.before = (first, second)
    site.skips.given = bytearray(_unpacked(given))
    site.skips.waiting = [(chain, latest) for chain, latest in waiting]
    for leaf, chains in data["chains"]:
        site.chains[patterns[leaf]] = {tuple(everything[n] for n in numbers): latest for numbers, latest in chains}
    site.firsts = _map(data["firsts"])
    return site


def _load_hypotheses(known: Hypotheses, data: dict[str, Any]) -> None:
    for name, randomness, _ in data["parts"]:
        part = known.parts[name] = Part(name)
        part.randomness = randomness
    for names, value, shift in data["hypotheses"]:
        known.add(tuple(names), value, shift)
    for name, _, sights in data["parts"]:
        part = known.parts[name]
        part.sights = dict(zip(part.sights, sights, strict=True))
    known.hinted = {known.all[number] for number in data["hinted"]}


def _evidence(evidence: Evidence) -> list[Any]:
    values = [getattr(evidence, name) for name in Evidence.__slots__]
    return [list(value.items()) if isinstance(value, dict) else value for value in values]


def _load_evidence(values: list[Any]) -> Evidence:
    evidence = Evidence()
    for name, value in zip(Evidence.__slots__, values, strict=True):
        setattr(evidence, name, dict(map(tuple, value)) if name == "contents" else value)
    return evidence


def _dispute(dispute: Dispute) -> list[Any]:
    mine, theirs = ([[h.number, found] for h, found in tags.items()] for tags in (dispute.tags, dispute.other_tags))
    return [dispute.leaf.name, dispute.blamed.number, dispute.content, mine, dispute.other_content, theirs]


def _load_dispute(site: Site, dispute: list[Any]) -> Dispute:
    leaf, blamed, content, mine, other, theirs = dispute
    everything = site.hypotheses.all
    tags, other_tags = ({everything[number]: found for number, found in side} for side in (mine, theirs))
    return Dispute(site.tree.pattern(leaf), everything[blamed], content, tags, other, other_tags)


def _numbers(rules: tuple[Hypothesis, ...]) -> list[int]:
    return [rule.number for rule in rules]


def _log(log: UrlLog) -> list[Any]:
    return [[b64encode(block).decode() for block in log.blocks], log.tail]


def _load_log(data: list[Any]) -> UrlLog:
    log = UrlLog()
    log.blocks, log.tail = [b64decode(block) for block in data[0]], data[1]
    return log


def _packed(raw: bytes) -> str:
    return b64encode(zlib.compress(raw, 1)).decode()


def _unpacked(text: str) -> bytes:
    return zlib.decompress(b64decode(text))


def _map(text: str) -> SortedMap:
    return SortedMap.from_bytes(_unpacked(text))
