"""Builds the conda package of this checkout into a folder: ``python conda/build.py FOLDER``, or ``tox -e conda``."""

from __future__ import annotations

import sys
from pathlib import Path

from rattler_build import Stage0Recipe, VariantConfig

HERE = Path(__file__).parent

Stage0Recipe.from_file(HERE / "recipe.yaml").run_build(
    variant_config=VariantConfig.from_file(HERE / "variants.yaml"), output_dir=sys.argv[1]
)
