"""Stores do the same as PyTorch's, and exchange PyTorch's messages."""

import threading
from datetime import timedelta
from typing import Any

import pytest

import torchlike as torch
from torchlike import distributed as dist

pytestmark = pytest.mark.recorded
SHORT = timedelta(milliseconds=100)


@pytest.fixture(params=["tcp", "file", "hash", "prefix", "client"])
def store(request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    if request.param == "file":
        return dist.FileStore(str(tmp_path / "store"), 1)
    if request.param == "hash":
        return dist.HashStore()
    served = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    if request.param == "client":
        return dist.TCPStore("localhost", served.port, is_master=False, wait_for_workers=False)
    return dist.PrefixStore("part", served) if request.param == "prefix" else served


def test_a_store_keeps_counts_compares_and_waits(store: Any) -> None:
    store.set("k", "v")
    assert store.get("k") == b"v" and store.check(["k"]) and not store.check(["k", "other"])
    assert [store.add("n", 3), store.add("n", -1), store.get("n")] == [3, 2, b"2"]
    assert [store.compare_set("k", "v", "w"), store.compare_set("k", "x", "y"), store.get("k")] == [b"w", b"w", b"w"]
    assert [store.compare_set("q", "v", "w"), store.compare_set("e", "", "w")] == [b"v", b"w"]
    assert [store.delete_key("k"), store.delete_key("k"), store.check(["k"])] == [True, False, False]
    store.append("a", "b")
    store.append("a", "c")
    store.multi_set(["x", "y"], ["1", "2"])
    assert store.get("a") == b"bc" and store.multi_get(["x", "y"]) == [b"1", b"2"]
    before = store.num_keys()
    store.set("large", bytes(300_000))
    assert store.num_keys() == before + 1 and len(store.get("large")) == 300_000
    store.set_timeout(SHORT)
    assert store.timeout == SHORT
    for wait in (lambda: store.get("nothing"), lambda: store.wait(["nothing"]), lambda: store.wait(["nothing"], SHORT)):
        with pytest.raises(dist.DistStoreError, match=r"(?i)timeout"):
            wait()
    timer = threading.Timer(0.05, lambda: store.set("late", "here"))
    if isinstance(store, (dist.HashStore, dist.FileStore)):  # a waiting thread occupies a TCPStore's one connection
        timer.start()
        store.wait(["late"], timedelta(seconds=10))


def test_a_client_waits_for_another_ones_key_in_pytorchs_words() -> None:
    served = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    client = served.clone()
    threading.Timer(0.05, lambda: served.set("late", "here")).start()
    assert client.get("late") == b"here"
    with pytest.raises(dist.DistStoreError, match="^wait timeout after 100ms, keys: /a, /b$"):
        client.wait(["a", "b"], SHORT)
    served.set("a", "1")  # and afterwards the store answers as before
    assert client.get("a") == b"1"


def test_who_does_not_come_and_what_is_not_there_is_told_in_pytorchs_words() -> None:
    with pytest.raises(
        dist.DistStoreError, match=r"Timed out after 1 seconds waiting for clients. 1/2 clients joined\."
    ):
        dist.TCPStore("127.0.0.1", 0, 2, True, timedelta(seconds=1))
    served = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    with pytest.raises(
        dist.DistNetworkError, match=r"failed to listen on any local network address\. port: \d+.*EADDRINUSE"
    ):
        dist.TCPStore("127.0.0.1", served.port, is_master=True)
    with pytest.raises(
        dist.DistNetworkError, match=r"timed out after 200ms while trying to connect to \(127.0.0.1, 1\)"
    ):
        dist.TCPStore("127.0.0.1", 1, is_master=False, timeout=timedelta(milliseconds=200))
    assert issubclass(torch.distributed.DistStoreError, dist.DistError)
