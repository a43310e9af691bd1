"""Turning memories, documents, past chats and skills into candidates for a model call."""

from playground.sources.chats import ChatRecord, ChatStore, InMemoryChatStore
from playground.sources.memory import MemorySource
from playground.sources.rag import RagSource
from playground.sources.skill_files import SkillRegistry
from playground.sources.skill_text import Skill
from playground.sources.skills import SkillsSource
from playground.sources.transcript import TranscriptSource

__all__ = [
    "ChatRecord",
    "ChatStore",
    "InMemoryChatStore",
    "MemorySource",
    "RagSource",
    "Skill",
    "SkillRegistry",
    "SkillsSource",
    "TranscriptSource",
]
