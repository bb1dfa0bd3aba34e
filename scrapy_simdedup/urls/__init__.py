"""Learning which URLs lead only to known content."""

from scrapy_simdedup.urls.decision import UrlDecision
from scrapy_simdedup.urls.evidence import LearnerThresholds
from scrapy_simdedup.urls.given import GivenRule, load_rules
from scrapy_simdedup.urls.learner import UrlLearner
from scrapy_simdedup.urls.parts import canonical_url
from scrapy_simdedup.urls.questions import Question
from scrapy_simdedup.urls.rules import (
    RememberedRule,
    RememberedRules,
    Rule,
    export_obstacle,
    export_own_rules,
    export_rules,
)

__all__ = [
    "GivenRule",
    "LearnerThresholds",
    "Question",
    "RememberedRule",
    "RememberedRules",
    "Rule",
    "UrlDecision",
    "UrlLearner",
    "canonical_url",
    "export_obstacle",
    "export_own_rules",
    "export_rules",
    "load_rules",
]
