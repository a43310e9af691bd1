"""The two first examples of the source system's page, written in Python, and what they print there."""

from __future__ import annotations

import time
from typing import Any

from playground import (
    ContextCompiler,
    ContextPackage,
    ContextSource,
    InMemoryMemoryStore,
    MemoryScope,
    MemorySession,
    MemorySource,
    ModelSpec,
    RagSource,
    create_working_memory,
)
from playground.concurrency import run_sync

DOCS = [
    {"text": "Deploys need a green CI run.", "index": 0, "score": 0.9},
    {"text": "Rollbacks use the previous image tag.", "index": 1, "score": 0.4},
]
OPUS = ModelSpec(
    provider="anthropic", model_id="claude-opus-5-5", context_window=200_000, max_output_tokens=8_000
)
GPT = ModelSpec(provider="openai", model_id="gpt-5", context_window=128_000, max_output_tokens=8_000)
QUESTION = {"role": "user", "content": "How do I deploy?"}


async def two_sources() -> tuple[ContextCompiler, str]:
    memory = MemorySession(store=InMemoryMemoryStore(), scope=MemoryScope(user_id="ada"))
    await memory.remember(text="Every deploy goes to eu-west.")
    (remembered,) = await memory.list()

    async def retrieve(query: str, top_k: int, signal: object) -> list[dict[str, Any]]:
        return DOCS[:top_k]

    sources: list[ContextSource] = [MemorySource(session=memory), RagSource(retrieve=retrieve)]
    return ContextCompiler(scope=MemoryScope(user_id="ada"), sources=sources), remembered.id


async def first_example(**changed: Any) -> tuple[ContextPackage, str]:
    compiler, record_id = await two_sources()
    step: dict[str, Any] = {
        "run_id": "run-1",
        "step": 0,
        "messages": [QUESTION],
        "model": OPUS,
        "overhead_tokens": 0,
        "working_memory": create_working_memory(
            scope="acme",
            goal="Deploy the billing service.",
            constraints=["No deploys on Friday."],
            now=int(time.time() * 1000),
        ),
    }
    return await compiler.before_model_call(**{**step, **changed}), record_id


class TestFirstExample:
    def package(self, **changed: Any) -> tuple[ContextPackage, str]:

        return run_sync(first_example(**changed))

    def test_r1_there_are_two_blocks_the_retrieval_first_and_the_tail_last(self) -> None:
        package, _ = self.package()
        assert [(block.placement, block.messages[0].role) for block in package.blocks] == [
            ("append", "user"), ("ephemeral-tail", "user"),
        ]  # fmt: skip

    def test_r2_each_block_holds_one_user_message_with_a_string(self) -> None:
        package, _ = self.package()
        for block in package.blocks:
            assert len(block.messages) == 1
            assert isinstance(block.messages[0].content, str)

    def test_r3_r4_the_first_call_is_initial_and_may_add_8192_tokens(self) -> None:
        manifest = self.package()[0].manifest
        assert (manifest.refresh, manifest.budget.context_tokens) == ("initial", 8192)
        assert (manifest.budget.input_tokens, manifest.budget.used_tokens) == (192_000, 9)

    def test_r5_the_entries_are_the_documented_five(self) -> None:
        package, record_id = self.package()
        assert [(e.source, e.record_id, e.selected, e.reason) for e in package.manifest.entries] == [
            ("working-memory", "goal", True, "mandatory"),
            ("working-memory", "constraint/constraints-0-0", True, "mandatory"),
            ("memory", record_id, True, "ranked"),
            ("rag", "0", True, "ranked"),
            ("rag", "1", True, "ranked"),
        ]

    def test_r6_r7_the_blocks_are_the_documented_ones_but_for_their_preambles(self) -> None:
        package, record_id = self.package()
        retrieval, tail = (block.text.split("\n") for block in package.blocks)
        assert retrieval[:1] + retrieval[2:] == [
            '<deuz_context pass="1" step="0">',
            (
                f'<record source="memory" kind="memory" id="{record_id}" revision="1" origin="asserted" '
                'source_kinds="host">'
            ),
            "Every deploy goes to eu-west.",
            "</record>",
            '<record source="rag" kind="rag" id="0">',
            "Deploys need a green CI run.",
            "</record>",
            '<record source="rag" kind="rag" id="1">',
            "Rollbacks use the previous image tag.",
            "</record>",
            "</deuz_context>",
        ]
        assert tail[:1] + tail[2:] == [
            '<deuz_working_memory revision="0">',
            "<goal>Deploy the billing service.</goal>",
            "<constraints>",
            "- [constraints-0-0] No deploys on Friday.",
            "</constraints>",
            "</deuz_working_memory>",
        ]

    def test_r13_overhead_counts_as_used(self) -> None:
        plain, heavy = (self.package(overhead_tokens=tokens)[0].manifest.budget for tokens in (0, 1_000))
        assert heavy.used_tokens - plain.used_tokens == 1_000
        long = self.package(messages=[{"role": "user", "content": "x" * 3_600}])[0].manifest.budget
        assert long.used_tokens == 1_004

    def test_r52_the_query_of_each_entry_is_the_one_that_was_built(self) -> None:
        entries = self.package()[0].manifest.entries
        assert {entry.query for entry in entries if entry.source != "working-memory"} == {"How do I deploy?"}

    def test_r93_a_tail_on_a_model_that_binds_thinking_to_the_prefix_is_kept(self) -> None:
        assert self.package()[0].manifest.placement.tail_kept is True
        assert self.package(model=GPT)[0].manifest.placement.tail_kept is None
        assert self.package(working_memory=None)[0].manifest.placement.tail_kept is None


class TestSecondExample:
    """First call, a reused step, and a refresh that the host asks for."""

    def run(self) -> tuple[ContextCompiler, list[ContextPackage], list[Any]]:
        compiler = ContextCompiler(sources=[RagSource(retrieve=lambda query, top_k, signal: DOCS[:1])])
        history: list[Any] = [QUESTION]
        first = compiler.before_model_call_sync(
            run_id="r", step=0, messages=history, model=GPT, overhead_tokens=0
        )
        history += [*first.blocks[0].messages, {"role": "assistant", "content": "Checking CI."}]
        second = compiler.before_model_call_sync(
            run_id="r", step=1, messages=history, model=GPT, overhead_tokens=0
        )
        compiler.request_refresh()
        third = compiler.before_model_call_sync(
            run_id="r", step=2, messages=history, model=GPT, overhead_tokens=0
        )
        return compiler, [first, second, third], history

    def test_r12_input_tokens_are_the_window_less_the_output_limit(self) -> None:
        _, packages, _ = self.run()
        assert {package.manifest.budget.input_tokens for package in packages} == {120_000}

    def test_r2_the_block_of_a_run_is_one_user_message(self) -> None:
        _, (first, *_), _ = self.run()
        assert [(block.placement, block.messages[0].role) for block in first.blocks] == [("append", "user")]

    def test_r112_r113_a_reused_step_asks_nobody_and_adds_nothing(self) -> None:
        _, (_, second, _), _ = self.run()
        manifest = second.manifest
        assert (manifest.refresh, len(second.blocks), manifest.cache_prefix_changed) == ("reused", 0, False)
        assert [summary.status for summary in manifest.sources] == ["reused"]
        assert len(manifest.entries) == 0

    def test_r66_r120_a_host_request_finds_only_what_stands_and_still_counts_as_a_pass(self) -> None:
        compiler, (_, _, third), _ = self.run()
        assert third.manifest.refresh == "host-request"
        assert [entry.reason for entry in third.manifest.entries] == ["already-placed"]
        assert compiler.state().passes == 2

    def test_r56_the_passes_are_recorded(self) -> None:
        _, packages, _ = self.run()
        assert [package.manifest.retrieval_pass for package in packages] == [1, 1, 2]
        assert [package.manifest.step for package in packages] == [0, 1, 2]

    def test_r85_the_messages_of_the_host_are_never_changed(self) -> None:
        system = {"role": "system", "content": "You are careful."}
        history = [system, dict(QUESTION)]
        compiler = ContextCompiler(sources=[RagSource(retrieve=lambda query, top_k, signal: DOCS)])
        compiler.before_model_call_sync(run_id="r", step=0, messages=history, model=GPT)
        assert history == [{"role": "system", "content": "You are careful."}, QUESTION]

    def test_r130_an_empty_query_skips_every_source_and_spends_no_pass(self) -> None:
        asked: list[str] = []

        def retrieve(query: str, top_k: int, signal: object) -> list[dict[str, Any]]:
            asked.append(query)
            return list(DOCS)

        compiler = ContextCompiler(sources=[RagSource(retrieve=retrieve)])
        silent = [{"role": "assistant", "content": "Hello."}]
        first = compiler.before_model_call_sync(run_id="r", step=0, messages=silent, model=GPT)
        assert [summary.status for summary in first.manifest.sources] == ["skipped"]
        assert (asked, compiler.state().passes) == ([], 0)
        second = compiler.before_model_call_sync(run_id="r", step=1, messages=[*silent, QUESTION], model=GPT)
        assert (second.manifest.refresh, asked) == ("initial", ["How do I deploy?"])
