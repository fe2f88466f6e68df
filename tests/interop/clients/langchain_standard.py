"""LangChain's standard tests of a chat model, ChatOpenAI with both APIs on Weft. pytest runs them, called by langchain-openai.py."""
import os

import pytest
from langchain_openai import ChatOpenAI
from langchain_tests.integration_tests import ChatModelIntegrationTests


class TestChat(ChatModelIntegrationTests):
    chat_model_class = ChatOpenAI
    # With a timeout of its own: LangChain shares the HTTP client, and its event loop, of all models with the same URL and timeout.
    chat_model_params = {"model": "gpt-4.1", "base_url": os.environ["WEFT_URL"], "api_key": "k", "stream_usage": True, "timeout": 60}
    model_override_value = "gpt-5"
    supports_model_override = True
    supports_json_mode = True
    supports_anthropic_inputs = True
    supported_usage_metadata_details = {"invoke": ["reasoning_output", "cache_read_input"], "stream": ["reasoning_output", "cache_read_input"]}

    def invoke_with_reasoning_output(self, *, stream=False):
        return self.answer("think", stream)

    def invoke_with_cache_read_input(self, *, stream=False):
        return self.answer("cached", stream)

    def answer(self, text, stream):
        model = self.chat_model_class(**self.chat_model_params)
        if not stream:
            return model.invoke(text)
        chunks = list(model.stream(text))
        return sum(chunks[1:], chunks[0])


class TestResponses(TestChat):
    chat_model_params = {**TestChat.chat_model_params, "use_responses_api": True}


class Results:
    """A line a test that was not skipped."""

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and not report.skipped or report.failed:
            wrong = report.longreprtext.replace("\n", " ").replace("\t", " ")[-2000:] if report.failed else ""
            title = report.nodeid.partition("::")[2].replace("::test_", ": ").replace("_", " ")
            print(f"{'bad' if report.failed else 'ok'}\tlangchain-tests: {title}\t{wrong}", flush=True)


def run():
    pytest.main(["-c", os.devnull, "-p", "no:cacheprovider", "-p", "no:terminal", "-o", "asyncio_mode=auto", "-o", "asyncio_default_test_loop_scope=session", "-W", "ignore", __file__], plugins=[Results()])
