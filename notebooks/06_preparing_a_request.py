# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Preparing a request
#
# An agent's conversation grows with every tool result, and right before each model call a request must be
# selected that fits the window and breaks no tool protocol. `AgentContext.prepare` does that: it renders
# everything anew, counts what is really sent, compacts at most once, and returns a request or raises. Nothing
# here needs a key or a network; models are played by functions.

# %%
import json

import altair as alt
import pandas as pd

from playground.preparation import AgentContext, ContextOverflowError, ContextTool

alt.renderers.enable("png", scale_factor=2)
pd.set_option("display.max_colwidth", 90)


def clock():
    return 1_790_000_000_000  # milliseconds; a fixed one gives the same bytes at every run


def call(call_id, name, **arguments):
    return {"type": "tool_use", "id": call_id, "name": name, "arguments": json.dumps(arguments)}


def result(call_id, content):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


# %% [markdown]
# ## A small window and a spill
#
# One answer of the model makes two calls: a report, whose result is large, and a price, whose result is a
# native output of a few characters. Later a third call is still waiting for the model to read its result. The
# window has 2,800 tokens, of which 400 stay free for the answer.

# %%
context = AgentContext(
    model="any-model",
    max_context_tokens=2_800,
    response_reserve=400,
    system_prompt="Answer from what the tools returned.",
    clock=clock,
)
context.add_user_message("Read the report on rushed cards, and what one costs.")
context.add_assistant_response(
    [
        {"type": "output_text", "text": "I look both up."},
        call("call_00000001", "read_report", topic="rushed cards"),
        call("call_00000002", "get_price", item="rushed card"),
    ]
)
context.add_input_items([{"type": "function_call_output", "call_id": "call_00000002", "output": "15 euros"}])
context.add_tool_results([result("call_00000001", "A rushed card arrives within a day. " * 120)])
context.add_assistant_response("A rushed card arrives within a day and costs 15 euros.")
context.add_user_message("And what does a second one cost?")
context.add_assistant_response([call("call_00000003", "get_price", item="second card")])
context.add_tool_results([result("call_00000003", "10 euros")])

notes = context.plugins["working_memory"]
print("index before:", await notes.get_content())

# %% [markdown]
# The estimate says that it is too full; `calculate_budget` changes nothing. Then it is prepared.

# %%
before = await context.calculate_budget()
prepared = await context.prepare()
pd.DataFrame({"before": before.breakdown.flat(), "prepared": prepared.budget.breakdown.flat()}).query(
    "before + prepared > 0"
)

# %%
print(f"limit {prepared.budget.limit}, before {before.total_used}, now {prepared.budget.total_used}")
print("\n".join(prepared.compaction_log))

# %% [markdown]
# The whole group left: the answer with both calls, the large result, and the small one that is tied to it. Both
# values stand in the notes, and the index that the model sees in this very request names their keys.

# %%
print(await notes.get_content())

# %% [markdown]
# The model reads the small native result by its exact key. A look at the index alone has not read it.

# %%
key = next(entry.key for entry in notes.store.list() if "get_price" in entry.key)
found = await context.tools.execute("store_get", {"store": "notes", "key": key})
listed = await context.tools.execute("store_get", {"store": "notes"})
print(found)
assert found["entry"]["value"] == "15 euros"
assert all("value" not in entry for entry in listed["entries"])

# %% [markdown]
# The third result waits for an answer: it keeps its call.

# %%
sent = [block for item in prepared.input[1:] for block in item["content"]]
calls = {block["id"] for block in sent if block["type"] == "tool_use"}
results = {block["tool_use_id"] for block in sent if block["type"] == "tool_result"}
assert calls == results == {"call_00000003"}
context.last_preparation

# %% [markdown]
# ## How full a window gets
#
# Forty rounds of one call each, results of 200 to 3,000 characters, at three windows. What grows is the
# conversation, until it is compacted; what it leaves behind grows in the notes' index, which has a limit too.


# %%
async def rounds(window):
    context = AgentContext(model="any-model", max_context_tokens=window, response_reserve=512, clock=clock)
    context.add_user_message("Go through all forty reports.")
    for number in range(40):
        name = f"call_{number:08}"
        context.add_assistant_response([call(name, "read_report", number=number)])
        context.add_tool_results([result(name, "One more line of a report. " * (8 + number * 37 % 104))])
        prepared = await context.prepare()
        for part in ("conversation", "current_input", "plugin_contents"):
            value = getattr(prepared.budget.breakdown, part)
            tokens = sum(value.values()) if isinstance(value, dict) else value
            yield {"window": window, "round": number + 1, "part": part.replace("_", " "), "tokens": tokens}


rows = [row for window in (4_096, 8_192, 16_384) async for row in rounds(window)]
alt.Chart(pd.DataFrame(rows), width=210, height=200).mark_area().encode(
    x=alt.X("round:Q", title="round"),
    y=alt.Y("tokens:Q", title="tokens"),
    color=alt.Color("part:N", title=None, scale=alt.Scale(range=["#2331B5", "#9D6619", "#6B7280"])),
    facet=alt.Facet("window:N", title="window, tokens"),
)

# %% [markdown]
# ## A structured answer and its repair
#
# A request that wants JSON counts its schema. Where the model answers with something else, a host may ask it
# once more to repair the answer. That auxiliary request is checked before its call, and leaves diagnostics as
# they are.


# %%
class OfflineProvider:
    """Plays a model: answers that were written beforehand, one a call."""

    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []

    def complete(self, request):
        self.requests.append(request)
        return self.answers.pop(0)


FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "price", "schema": {"type": "object", "properties": {"euros": {"type": "number"}}}},
}


async def priced(provider, window):
    agent = AgentContext(
        model="any-model",
        max_context_tokens=window,
        response_reserve=200,
        features={"working_memory": False, "in_context_memory": False},
        clock=clock,
    )
    try:
        agent.add_user_message("What does a rushed card cost?")
        prepared = await agent.prepare(get_request_options=lambda _: {"response_format": FORMAT})
        request = {"model": agent.model, "input": prepared.input, "response_format": FORMAT}
        agent.validate_request_budget(request)
        answer = provider.complete(request)
        selected = agent.last_preparation
        repair = {**request, "input": f"Give this as JSON with the field euros:\n{answer}"}
        try:
            budget = agent.validate_request_budget(repair, record_preparation=False)
        except ContextOverflowError as error:
            return f"stopped before the repair: {error}"
        finally:
            assert agent.last_preparation == selected
        answer = json.loads(provider.complete(repair))
        agent.add_assistant_response(json.dumps(answer))
        return f"repaired to {answer} within {budget.limit} tokens, {budget.total_used} used"
    finally:
        agent.destroy()


fitting = OfflineProvider("Fifteen euros.", '{"euros": 15}')
print(await priced(fitting, 600), "| calls:", len(fitting.requests))
oversized = OfflineProvider("Fifteen euros, that is to say. " * 60, '{"euros": 15}')
print(await priced(oversized, 600), "| calls:", len(oversized.requests))

# %% [markdown]
# ## What does not fit
#
# A question of the user's is never cut. The error says both sizes, and what takes the most.

# %%
context.add_user_message("Here is everything that I know of it. " * 400)
try:
    await context.prepare()
except ContextOverflowError as error:
    print(error)
    print(error.get_top_consumers(3))
assert context.last_preparation.revision == 1


# %% [markdown]
# ## A tool that describes itself
#
# Descriptions may change from one request to the next; what is counted is what is sent.

# %%
stock = {"cards": 3}
context.add_user_message("Order one.")
context.tools.register(ContextTool("order", lambda: f"Orders a card; {stock['cards']} are left."))
first = await context.prepare()
stock["cards"] = 2
second = await context.prepare()
[next(tool["description"] for tool in one.tools if tool["name"] == "order") for one in (first, second)]
