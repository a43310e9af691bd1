"""An offline evaluation: what a long scripted task keeps in sight, depending on how context is brought in."""

from playground.evaluation.comparison import evaluate
from playground.evaluation.report import EvaluationReport, StepFigures, StrategyFigures
from playground.evaluation.strategies import STRATEGIES, StrategyName

__all__ = ["STRATEGIES", "EvaluationReport", "StepFigures", "StrategyFigures", "StrategyName", "evaluate"]
