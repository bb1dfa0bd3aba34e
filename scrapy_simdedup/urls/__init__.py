"""Learning which URLs lead only to known content."""

from scrapy_simdedup.urls.canonical import canonical_url
from scrapy_simdedup.urls.caution import Caution
from scrapy_simdedup.urls.decision import Decision
from scrapy_simdedup.urls.given import GivenRule, load_rules
from scrapy_simdedup.urls.learner import UrlLearner
from scrapy_simdedup.urls.rules import Rule, RuleChange, export_rules

__all__ = [
    "Caution",
    "Decision",
    "GivenRule",
    "Rule",
    "RuleChange",
    "UrlLearner",
    "canonical_url",
    "export_rules",
    "load_rules",
]
