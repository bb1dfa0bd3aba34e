"""Draws s_curve.svg: how likely a page is found as a candidate, by how alike two pages are.

A bit of a simhash differs with the probability arccos(s) / pi, where s is the cosine of the two weighted sets of
features (Charikar, Similarity estimation techniques from rounding algorithms, 2002), and bits are independent.
"""

from __future__ import annotations

from math import acos, comb, pi
from pathlib import Path

BITS = 64
RADII = ((3, "4 3", "3 bits"), (12, "1 3", "12 bits"), (18, "", "18 bits"))
LEFT, TOP, WIDTH, HEIGHT = 60, 20, 600, 240
FROM = 0.5
"""The cosine at the left end."""


def found(cosine: float, radius: int) -> float:
    """The probability that two simhashes differ in at most ``radius`` bits."""
    differs = acos(min(1.0, cosine)) / pi
    return sum(comb(BITS, k) * differs**k * (1 - differs) ** (BITS - k) for k in range(radius + 1))


def draw() -> str:
    """The picture as SVG."""

    def at(cosine: float, share: float) -> tuple[float, float]:
        return LEFT + WIDTH * (cosine - FROM) / (1 - FROM), TOP + HEIGHT * (1 - share)

    lines, labels = [], []
    for radius, dashes, name in RADII:
        points = [at(FROM + step / 200, found(FROM + step / 200, radius)) for step in range(101)]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        lines.append(f'<path d="{path}" stroke-width="2"' + (f' stroke-dasharray="{dashes}"' if dashes else "") + "/>")
        half = next(step for step in range(101) if found(FROM + step / 200, radius) >= 0.5)
        x, y = at(FROM + half / 200, 0.5)
        labels.append(f'<text x="{x - 6:.0f}" y="{y:.0f}" text-anchor="end">{name}</text>')
    for tenth in range(5, 11):
        x, y = at(tenth / 10, 0)
        labels.append(f'<text x="{x:.0f}" y="{y + 18:.0f}" text-anchor="middle" font-size="11">{tenth / 10}</text>')
    for share in (0, 0.5, 1):
        x, y = at(FROM, share)
        labels.append(f'<text x="{x - 8:.0f}" y="{y + 4:.0f}" text-anchor="end" font-size="11">{share:.0%}</text>')
    middle = LEFT + WIDTH / 2
    labels.append(
        f'<text x="{middle:.0f}" y="{TOP + HEIGHT + 40}" text-anchor="middle">cosine of the weighted shingles</text>'
    )
    title = "The share of pairs that become candidates rises as an S with their likeness; a wider radius finds more"
    return "\n".join(
        (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 310" role="img" aria-labelledby="s-title" '
            'font-family="sans-serif" font-size="13" fill="currentColor" style="max-width:720px;width:100%">',
            f'  <title id="s-title">{title}</title>',
            '  <g fill="none" stroke="currentColor">',
            f'    <path d="M{LEFT} {TOP}v{HEIGHT}h{WIDTH}"/>',
            *(f"    {line}" for line in lines),
            "  </g>",
            *(f"  {label}" for label in labels),
            "</svg>",
            "",
        )
    )


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(draw(), encoding="utf-8")
