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
# # Your own material
#
# A repair desk for espresso machines brings what it has: a handbook, warranty terms, a price list, notes about
# a customer and the log of an earlier chat. They become a project on disk, get vectors, and answer a question.
# Then a memory is revised and forgotten, the material is drawn as a map, and recall is measured. The
# embedding model comes with the installation; nothing is fetched.

# %%
import json
import tempfile
import warnings
from pathlib import Path

import altair as alt
import pandas as pd

from playground import ContextBudget, InMemoryMemoryStore, MemoryScope, MemorySession
from playground.charts import map as map_chart
from playground.charts import recall as recall_chart
from playground.charts import sources as sources_chart
from playground.errors import StaleRevisionError
from playground.evaluation.recall import measure_recall
from playground.retrieval.documents import load_documents
from playground.retrieval.embedding import load_embedder
from playground.retrieval.embedding_cache import EmbeddingCache, vector_key
from playground.sources.chat_files import load_chats
from playground.views.map import map_view
from playground.views.recall import recall_view, recall_views
from playground.views.record_text import record_texts
from playground.views.sources import sources_view
from playground.workspace import (
    ChunkSettings,
    GoldRecord,
    Project,
    Scenario,
    ask_sources,
    compile_answers,
    load_project,
    project_embedder,
)
from playground.workspace.additions import load_memories, with_chats, with_documents, with_memories
from playground.workspace.archive import pack_project, unpack_project
from playground.workspace.embedding import embed_project, with_embedding
from playground.workspace.library import ProjectLibrary
from playground.workspace.memories import remember_memory, revise_memory

alt.renderers.enable("png", scale_factor=2)
pd.set_option("display.max_colwidth", 90)
warnings.filterwarnings("ignore", message="IProgress")  # of a library whose progress bars are not shown here

temporary = tempfile.TemporaryDirectory()
home = Path(temporary.name)
MONDAY, TUESDAY, WEDNESDAY, THURSDAY = (1_772_409_600_000 + day * 86_400_000 for day in range(4))  # ms

# %% [markdown]
# ## The files
#
# In your own notebook they are there already; here they are written first.

# %%
HANDBOOK = """# Aria handbook

## Error codes

E07: the water tank is empty or not seated. Push it down until it clicks.

E12: lime blocks the flow meter, mostly right after descaling. Let the machine cool for ten minutes, rinse it
twice and descale again. When E12 comes back, a workshop has to change the flow meter.

E20: the grinder is jammed. Switch off, empty the hopper and brush the burrs.

## Descaling

Descale every 300 cups with citric acid, never with vinegar. The machine counts the cups; the counter is shown
under Settings, Service. Descaling takes 25 minutes and must not be broken off.

## Milk

Rinse the milk hose after each use and boil the nozzle once a week. Foam that collapses comes from warm milk or
from a nozzle that is clogged.
"""
WARRANTY = """<html><head><title>Warranty terms</title></head><body>
<h1>Warranty terms</h1>
<p>Parts and labour are covered for two years from the day of purchase.</p>
<h2>Lime</h2>
<p>Damage by lime is covered only when the machine was descaled at least every 300 cups, by its counter.</p>
<h2>Not covered</h2>
<p>Seals, burrs and the milk hose wear out and are not covered, nor is a machine that somebody else opened.</p>
</body></html>"""
PRICES = """title,fault,price in euro,minutes
Flow meter,E12,38.50,40
Grinder burrs,E20,54.00,60
Milk hose,,9.90,5
Pump,E31,61.00,75
"""
NOTES = [
    {"id": "machine", "text": "Ines Duarte bought her Aria on 14 May 2025 in our shop."},
    {"id": "descaling", "text": "Ines descaled at 290 and at 560 cups, her counter says.", "importance": 0.8},
    {"id": "cafe", "text": "Ines runs a small reading room and serves coffee on Saturdays."},
    {"id": "tone", "text": "Ines wants short answers with the price in them.", "kind": "procedural"},
]
CHAT = {
    "id": "february",
    "title": "First E12",
    "messages": [
        {"role": "user", "content": "My Aria shows E12 since yesterday, what is that?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "read_counter", "arguments": '{"serial": "AR-2207"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": '{"cups": 571, "descaled_at": [290, 560]}'},
        {"role": "assistant", "content": "Lime in the flow meter. Rinse twice and descale again, please."},
        {"role": "user", "content": "Done, it works again. And does the grinder always whistle?"},
        {"role": "assistant", "content": "Only with oily beans. Brush the burrs when it gets louder."},
    ],
}
(home / "handbook.md").write_text(HANDBOOK)
(home / "warranty.html").write_text(WARRANTY)
(home / "prices.csv").write_text(PRICES)
(home / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n")
(home / "notes.jsonl").write_text("\n".join(map(json.dumps, NOTES)))
(home / "chat.json").write_text(json.dumps(CHAT))
sorted(path.name for path in home.iterdir())

# %% [markdown]
# ## Load
#
# Loaders take names and bytes and give values. What they cannot read is an error of its own and stops nothing
# else.


# %%
def read(*names: str) -> list[tuple[str, bytes]]:
    return [(name, (home / name).read_bytes()) for name in names]


scope = MemoryScope(user_id="ines")
documents = load_documents(read("handbook.md", "warranty.html", "prices.csv", "photo.png"))
notes = load_memories(read("notes.jsonl"), scope=scope)
chats = load_chats(read("chat.json"), scope=scope)
for error in (*documents.errors, *notes.errors, *chats.errors):
    print("not read:", error)
for warning in (*documents.warnings, *notes.warnings, *chats.warnings):
    print("warning:", warning)
pd.DataFrame(
    [
        (document.id, document.title, document.media_type, len(document.text))
        for document in documents.documents
    ],
    columns=["document", "title", "type", "characters"],
)

# %% [markdown]
# ## A project
#
# A project is a value; each addition gives another one. The library keeps projects as folders, and every
# change is on the disk when it returns. Questions whose answer you know can be measured later.

# %%
QUESTION = "My Aria shows E12 again after descaling. What does the repair cost me, or is it under warranty?"
draft = Project(
    name="repair-desk",
    title="Repair desk",
    question=QUESTION,
    scope=scope,
    chunking=ChunkSettings(method="blocks", size=60, overlap=0),
    budget=ContextBudget(max_tokens=500),
    scenarios=(
        Scenario(
            id="cost",
            question="What is the price of a new flow meter?",
            gold_documents=("prices.csv#0",),
        ),
        Scenario(
            id="proof",
            question="Did Ines descale often enough for the warranty?",
            gold_documents=("warranty.html",),
            gold=(GoldRecord(source="memory", record_id="descaling"),),
        ),
        Scenario(
            id="noise",
            question="Why does the grinder whistle?",
            gold=(GoldRecord(source="transcript", record_id="february#5"),),
        ),
    ),
)
draft = with_documents(draft, documents.documents).project
draft = with_memories(draft, notes.entries, now=MONDAY).project
draft = with_chats(draft, chats.chats, chats.titles).project

library = ProjectLibrary(home / "projects")
project = library.create("repair-desk", draft)
print(len(project.chunks), "chunks,", len(project.memories), "memories,", len(project.chats), "chat")
for path in sorted((library.root / "repair-desk").iterdir()):
    print(path.name)

# %% [markdown]
# ## Embed
#
# Every text gets its vector once: a second run asks the model for nothing, and a run that is cut off goes on
# where it stopped.

# %%
model = load_embedder()
cache = EmbeddingCache(home / "vectors.sqlite")
run = embed_project(project, model, cache)
project = library.change("repair-desk", lambda now: with_embedding(now, run.vectors))
again = embed_project(project, model, cache)
print(f"{model.model_id}: {run.total} texts, {run.computed} computed; again: {again.computed}")

# %% [markdown]
# ## Ask, and see who gets in
#
# 500 tokens for everything. The price is a row of the list, the terms are a part of a page, the descaling is a
# note about the customer: all three get in, while milk, pump and Saturdays stay out.

# %%
print(project.question)
results = ask_sources(project)
package = compile_answers(project, results)
texts = record_texts(results, project.working_memory, project.label)
frame = package.manifest.to_frame()
frame["title"] = [texts[pair].title for pair in zip(frame["source"], frame["record_id"], strict=True)]
frame[["source", "record_id", "title", "score", "tokens", "selected", "reason"]]

# %%
sources_chart.chart(
    sources_view(package.manifest, title=lambda source, record_id: texts[(source, record_id)].title)
)

# %%
print(package.blocks[0].text)

# %% [markdown]
# ## Remember, revise
#
# A change names the revision that it has seen. Who comes too late is told, and writes nothing.

# %%
project = library.change(
    "repair-desk",
    lambda now: remember_memory(now, "Ines can be called at 555 0142 before noon.", id="phone", now=TUESDAY),
)
EVENINGS = "Ines can be called at 555 0142 after six in the evening."
project = library.change(
    "repair-desk", lambda now: revise_memory(now, "phone", EVENINGS, expected_revision=1, now=THURSDAY)
)
try:
    revise_memory(project, "phone", "Ines has no phone.", expected_revision=1, now=THURSDAY)
except StaleRevisionError as error:
    print(error)
run = embed_project(project, model, cache)
project = library.change("repair-desk", lambda now: with_embedding(now, run.vectors))
print(f"{run.computed} texts computed, one a revision")


# %%
def session() -> MemorySession:
    store = InMemoryMemoryStore(project.memories, project.forgotten)
    return MemorySession(store, project.scope, embedder=project_embedder(project, model))


def day(milliseconds: int) -> str:
    return pd.Timestamp(milliseconds, unit="ms").day_name()


pd.DataFrame(
    [(one.revision, day(one.recorded_at), one.writer, one.text) for one in await session().history("phone")],
    columns=["revision", "recorded on", "by", "text"],
)

# %% [markdown]
# Recall gives what holds now, or what was known at an earlier time: on Monday nothing about a phone.

# %%
asked = "When may I call Ines?"
pd.DataFrame(
    [
        (day(then), memory.id, memory.score, memory.text)
        for then in (MONDAY, WEDNESDAY, THURSDAY)
        for memory in await session().recall(asked, 2, recorded_as_of=then)
    ],
    columns=["as of", "memory", "score", "text"],
).set_index(["as of", "memory"])

# %% [markdown]
# ## Forget
#
# Before that, two exports are kept beside the project: an archive of all of it, and what a model was given.
# Wherever the number, its digest or its vector stands, it has to go.

# %%
package = compile_answers(project, ask_sources(project, asked, embedder=model), asked)
library.keep_export("repair-desk", "request.xml", package.blocks[0].text.encode())
library.keep_export("repair-desk", "backup.zip", pack_project(project))
said = [revision.text for revision in await session().history("phone")]


def traces() -> pd.Series:
    """Count where the two texts can still be found."""
    needles = [needle for text in said for needle in (text.encode(), vector_key(text))]
    files = [path for path in home.rglob("*") if path.is_file()]
    backup = unpack_project(library.read_export("repair-desk", "backup.zip"), name="backup")
    keys = [vector_key(text) for text in said]
    return pd.Series(
        {
            "files with a text or a digest": sum(
                any(needle in path.read_bytes() for needle in needles) for path in files
            ),
            "vectors in the project": sum(text in project.vectors for text in said),
            "vectors in the archive": sum(text in backup.vectors for text in said),
            "memories in the archive": sum(record.id == "phone" for record in backup.memories),
            "vectors in the cache": len(cache.get(model.model_id, model.weights_digest, keys)),
            "memories in the project": sum(record.id == "phone" for record in project.memories),
        }
    )


before = traces()
outcome = library.forget("repair-desk", ["phone"], now=THURSDAY, cache=cache)
project = outcome.project
print("forgotten:", *outcome.ids)
print("rewritten:", *outcome.rewritten)
print("deleted:", *outcome.deleted or ["nothing"], "| left:", *outcome.left or ["nothing"])
pd.DataFrame({"before": before, "after": traces()})

# %% [markdown]
# Nobody recalls it any more, at no time, and a file that still has it does not bring it back.

# %%
for then in (WEDNESDAY, THURSDAY):
    print(day(then), [memory.id for memory in await session().recall(asked, 2, recorded_as_of=then)])
print("history:", await session().history("phone"))
back = with_memories(project, [{"id": "phone", "text": EVENINGS}], now=THURSDAY)
print(f"added: {back.added}, left out because forgotten: {back.forgotten}")

# %% [markdown]
# ## The map
#
# All vectors on the plane that keeps most of their differences: documents in green, memories in blue, the past
# chat in purple. Near the question lies what is like it.

# %%
results = ask_sources(project)
package = compile_answers(project, results)
view = map_view(project, question=project.question, results=results, manifest=package.manifest)
print("".join(text for text, _ in view.sentence), *view.notes)
map_chart.chart(view)

# %% [markdown]
# ## Is the answer among it?
#
# Evidence recall asks that of each labelled question: of the records that answer it, which share got in? First
# the three questions of this project, with very little room.

# %%
report = measure_recall([project], token_limits=(40, 80, 160, 320))
pd.DataFrame(report.lines(), columns=report.heads())

# %% [markdown]
# Three questions prove nothing. The sample project `assistant-memory` has 263 in six groups: past conversations
# of five users, and a catalogue of tools.

# %%
sample = load_project("assistant-memory")
report = measure_recall([sample], token_limits=(250, 500, 1_000, 2_000, 4_000))
print(report.summary)
pd.DataFrame(report.lines(), columns=report.heads()).tail(3)

# %%
recall_chart.chart(recall_view(report))

# %% [markdown]
# Group by group the picture differs: tools are found by what they mean, conversations by words and meaning
# together.

# %%
views = recall_views(report)
recall_chart.charts(views[:3])

# %%
recall_chart.charts(views[3:6])

# %% [markdown]
# ## Turn a knob
#
# A message lends its neighbours in a chat some of its score. Does that help here, where the evidence is the one
# message that holds the answer?

# %%
alone = measure_recall(
    [sample], modes=["hybrid"], token_limits=report.token_limits, neighbour_weight=0
).with_means()[-1]
beside = next(row for row in reversed(report.with_means()) if row.mode == "hybrid")
pd.DataFrame(
    {"without neighbours": alone.recall, "weight 0.4": beside.recall},
    index=[f"{limit:,} tokens" for limit in report.token_limits],
).map("{:.1%}".format)

# %%
cache.close()
temporary.cleanup()

# %% [markdown]
# It does not, and costs a little. The same on the command line: `playground import`, `playground embed`,
# `playground export` and `playground recall`.
