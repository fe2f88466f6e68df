"""What the server acknowledged and what it refused, as its clients saw it.

Each text that a client sends has a word of its own, so that it is found wherever the server put it.
"""
import collections
import re

WORD = re.compile(r"tok\d+n\d+")
ENDED = ("completed", "failed", "cancelled", "expired", "incomplete")


class Text:
    """One text: `state` is `acknowledged`, `refused` or `unknown` (no answer, or one that does not say)."""

    def __init__(self, owner, state, thread, run, why):
        self.owner, self.state, self.thread, self.run, self.why = owner, state, thread, run, why
        self.optional = False  # it may be gone: its message or thread was deleted, or its run never began


class Thread:
    """`state` is `there`, `gone`, or `unknown`: a deletion got no answer."""

    def __init__(self, owner, state="there"):
        self.owner, self.state, self.erased, self.family = owner, state, False, self


class Ledger:
    def __init__(self):
        self.texts, self.threads, self.runs, self.files = {}, {}, {}, {}
        self.counts, self.wrong, self.hidden = collections.Counter(), [], 0
        self.ill = lambda: False  # whether the store is made to fail, or was a moment ago

    # ---- What clients say

    def count(self, what):
        self.counts[what] += 1

    def say_wrong(self, what):
        if len(self.wrong) < 200:
            self.wrong.append(what)
        else:
            self.hidden += 1

    def answered(self, method, path, answer):
        """An answer whose status says that the server itself is ill, and nothing makes it so."""
        self.count(f"status {answer.status}")
        if answer.status in (500, 507) or answer.status > 504:
            code = ((answer.value or {}).get("error") or {}) if isinstance(answer.value, dict) else {}
            if not self.ill() and code.get("code") not in ("PROVIDER_ERROR",):
                self.say_wrong(f"a healthy store, and {method} {path} is {answer}")

    def text(self, word, owner, state, thread=None, run=None, why=""):
        self.texts[word] = Text(owner, state, thread, run, why)

    def thread(self, thread, owner, family=None):
        if thread not in self.threads:
            self.threads[thread] = Thread(owner)
            if family in self.threads:
                self.threads[thread].family = self.threads[family].family
        return self.threads[thread]

    def deleted(self, thread, good, erased=None):
        """good: None, if nobody knows. erased: the other threads that lost messages."""
        t = self.threads.get(thread)
        if not t:
            return
        t.state = "gone" if good else "unknown" if good is None else t.state
        if erased is not None:
            t.erased = bool(good)
        if good or good is None:
            for text in self.texts.values():
                other = self.threads.get(text.thread)
                if text.thread == thread or (erased is not None and other and other.family is t.family):
                    text.optional = True

    def run(self, run, thread, owner, story):
        self.runs[run] = (thread, owner, story)

    # ---- What is found at the end

    def compare(self, found, threads):
        """found: {word: {message: {threads}}} of everything that is there; threads: ids of all threads that are there."""
        for id, t in self.threads.items():
            if t.state == "there" and id not in threads:
                self.say_wrong(f"the acknowledged thread {id} of {t.owner} is not there")
            elif t.state == "gone" and id in threads:
                self.say_wrong(f"the deleted thread {id} of {t.owner} is there")
        for word, text in self.texts.items():
            messages = found.get(word, {})
            where = f"{word} ({text.why}; thread {text.thread}, run {text.run}, {text.owner})"
            gone = text.thread in self.threads and self.threads[text.thread].state != "there"
            if len(messages) > 1:
                self.say_wrong(f"{where}: {text.state}, and there {len(messages)} times: {messages}")
            elif text.state == "refused" and messages:
                self.say_wrong(f"{where}: refused, and there: {messages}")
            elif text.state == "acknowledged" and not messages and not text.optional and not gone:
                self.say_wrong(f"{where}: acknowledged, and not there")
            elif text.state == "acknowledged" and messages and text.thread in threads and not text.optional:
                if text.thread not in next(iter(messages.values())):
                    self.say_wrong(f"{where}: acknowledged, and in another thread: {messages}")
        for word in found.keys() - self.texts.keys():
            self.say_wrong(f"{word} is there, and nobody sent it: {found[word]}")
