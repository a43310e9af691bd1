"""Strategies by name (section 12, 27)."""

from __future__ import annotations

from typing import Any

import pytest

from playground.errors import InvalidInputError
from playground.preparation.algorithmic import AlgorithmicStrategy
from playground.preparation.default_strategy import DefaultStrategy
from playground.preparation.strategies import StrategyInfo, StrategyRegistry, strategy_registry
from tests.preparation import StubStrategy, bare


class Named(StubStrategy):
    """A strategy that people see by another name."""

    display_name = "Named for people"
    description = "Does nothing."
    made = 0

    def __init__(self, **settings: Any) -> None:
        Named.made += 1
        super().__init__(name="named", threshold=settings.get("threshold", 0.6))


def test_27_the_built_ins_are_there_on_first_use() -> None:
    registry = StrategyRegistry()
    assert registry.list() == ("default", "algorithmic")
    assert registry.get("algorithmic") is AlgorithmicStrategy
    assert registry.get_if_exists("default") is DefaultStrategy
    assert registry.get_if_exists("nothing") is None
    assert strategy_registry() is strategy_registry()


def test_13_the_built_ins_have_their_thresholds() -> None:
    infos = {info.name: info for info in StrategyRegistry().get_info()}
    assert (infos["default"].threshold, infos["algorithmic"].threshold) == (0.70, 0.75)
    assert infos["algorithmic"].is_built_in
    assert infos["algorithmic"].display_name == "Algorithmic"


def test_12_what_is_known_of_a_strategy_is_read_from_an_instance_that_is_thrown_away() -> None:
    registry, before = StrategyRegistry(), Named.made
    registry.register(Named)
    assert Named.made == before + 1
    assert registry.get_info("named") == StrategyInfo("named", "Named for people", "Does nothing.", 0.6, False)
    one, other = registry.create("named"), registry.create("named", threshold=0.3)
    assert one is not other
    assert other.threshold == 0.3


def test_12_an_older_strategy_needs_no_name_for_people() -> None:
    registry = StrategyRegistry()
    registry.register(StubStrategy)
    assert registry.get_info("stub") == StrategyInfo("stub", "stub", "", 0.75, False)


def test_27_a_name_is_taken_once() -> None:
    registry = StrategyRegistry()
    registry.register(Named)
    for taken in (Named, DefaultStrategy):
        with pytest.raises(InvalidInputError, match="already registered"):
            registry.register(taken)


def test_27_an_unknown_name_is_told_with_those_that_there_are() -> None:
    registry = StrategyRegistry()
    for ask in (registry.get, registry.create, registry.get_info):
        with pytest.raises(InvalidInputError, match="not found") as caught:
            ask("magic")
        assert "default, algorithmic" in caught.value.remedy
    with pytest.raises(InvalidInputError, match="not found"):
        registry.get(["default"])  # type: ignore[arg-type]


def test_27_a_built_in_cannot_be_removed_and_an_unknown_one_need_not_be() -> None:
    registry = StrategyRegistry()
    with pytest.raises(InvalidInputError, match="Cannot remove built-in"):
        registry.remove("default")
    assert registry.remove("magic") is False
    registry.register(Named)
    assert registry.remove("named") is True
    assert registry.list() == ("default", "algorithmic")


@pytest.mark.parametrize("wrong", [{"name": ""}, {"threshold": 2}, {"threshold": True}, {"compact": None}])
def test_what_is_no_strategy_is_refused(wrong: dict[str, Any]) -> None:
    def make() -> Any:
        made = StubStrategy()
        for name, value in wrong.items():
            setattr(made, name, value)
        return made

    with pytest.raises(InvalidInputError):
        StrategyRegistry().register(make)


def test_12_an_instance_takes_the_place_of_a_name() -> None:
    assert bare().strategy.name == "algorithmic"
    assert bare(strategy="default").strategy.name == "default"
    stub = StubStrategy()
    assert bare(strategy=stub).strategy is stub
    with pytest.raises(InvalidInputError, match="not found"):
        bare(strategy="magic")


def test_settings_of_the_built_ins_are_checked() -> None:
    makers: tuple[Any, ...] = (AlgorithmicStrategy, DefaultStrategy)
    for make in makers:
        for wrong in (1.5, -0.1, float("nan"), "0.5", True, None):
            with pytest.raises(InvalidInputError, match="threshold"):
                make(wrong)
    with pytest.raises(InvalidInputError, match="pairs"):
        AlgorithmicStrategy(max_pairs=-1)
