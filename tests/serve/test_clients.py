"""Clients that exist, pointed at our server: Cohere's SDK (both versions), LangChain's two."""

import httpx
import pytest

DOCUMENTS = ["aa", "a", "aaaa", "aaa"]
# The lengths over 100, longest first.
RANKED = [(2, 0.04), (3, 0.03), (0, 0.02), (1, 0.01)]


@pytest.fixture
def running(serve, lengths):
    return serve(lengths, spec="held", names=("rerank-v3.5", "jina-reranker-v1-base-en"), key="k")


@pytest.fixture
def cohere():
    return pytest.importorskip("cohere", reason="the Cohere SDK is not installed")


@pytest.fixture
def http():
    """Connections for an SDK that closes none of its own."""
    with httpx.Client(timeout=20) as client:
        yield client


def test_cohere_2(running, cohere, http):
    client = cohere.ClientV2(api_key="k", base_url=running.url, httpx_client=http)
    found = client.rerank(model="rerank-v3.5", query="q", documents=DOCUMENTS)
    assert [(one.index, one.relevance_score) for one in found.results] == RANKED
    assert found.meta.tokens.input_tokens == 7
    assert found.id
    top = client.rerank(model="rerank-v3.5", query="q", documents=DOCUMENTS, top_n=2, priority=0)
    assert [one.index for one in top.results] == [2, 3]


def test_cohere_1(running, cohere, http):
    client = cohere.Client(api_key="k", base_url=running.url, httpx_client=http)
    found = client.rerank(
        model="rerank-v3.5", query="q", documents=[{"text": text} for text in DOCUMENTS],
        return_documents=True, top_n=3,
    )  # fmt: skip
    assert [(one.index, one.relevance_score) for one in found.results] == RANKED[:3]
    assert [one.document.text for one in found.results] == ["aaaa", "aaa", "aa"]


def test_cohere_is_told_what_is_wrong(running, cohere, http):
    client = cohere.ClientV2(api_key="k", base_url=running.url, httpx_client=http)
    with pytest.raises(cohere.UnprocessableEntityError, match="no such model"):
        client.rerank(model="other", query="q", documents=DOCUMENTS)
    with pytest.raises(cohere.UnprocessableEntityError, match="max_tokens_per_doc"):
        client.rerank(model="rerank-v3.5", query="q", documents=DOCUMENTS, max_tokens_per_doc=10)
    wrong = cohere.ClientV2(api_key="x", base_url=running.url, httpx_client=http)
    with pytest.raises(cohere.UnauthorizedError):
        wrong.rerank(model="rerank-v3.5", query="q", documents=DOCUMENTS)


@pytest.mark.filterwarnings("ignore")
def test_langchain_cohere(running, cohere, http):
    langchain = pytest.importorskip("langchain_cohere", reason="langchain-cohere is not installed")
    client = cohere.ClientV2(api_key="k", base_url=running.url, httpx_client=http)
    found = langchain.CohereRerank(client=client, model="rerank-v3.5").rerank(DOCUMENTS, "q", top_n=2)
    assert [(one["index"], one["relevance_score"]) for one in found] == RANKED[:2]


@pytest.mark.filterwarnings("ignore")
def test_langchain_jina(running, monkeypatch):
    jina = pytest.importorskip(
        "langchain_community.document_compressors.jina_rerank",
        reason="langchain-community is not installed",
    )
    from langchain_core.documents import Document

    monkeypatch.setattr(jina, "JINA_API_URL", f"{running.url}/v1/rerank")
    reranker = jina.JinaRerank(jina_api_key="k", top_n=3)
    documents = [Document(page_content=text, metadata={"n": i}) for i, text in enumerate(DOCUMENTS)]
    found = reranker.compress_documents(documents, "q")
    assert [(one.metadata["n"], one.metadata["relevance_score"]) for one in found] == RANKED[:3]
    with pytest.raises(RuntimeError, match="no such model"):
        reranker.rerank(documents, "q", model="other")
    reranker.session.close()
