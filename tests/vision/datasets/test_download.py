"""download=True with tensorflow-datasets' own manager and a server in this process, and the errors if it fails."""

import gzip
import hashlib
import importlib.util
import socket
import sys
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from tests.vision.datasets.test_mnist import IMAGES, LABELS, idx
from torchlike.vision.datasets import FashionMNIST, catalog

CONTENT = {
    f"{part}-{kind}-ubyte.gz": gzip.compress(idx(array), mtime=0)
    for part in ("train", "t10k")
    for kind, array in (("images-idx3", IMAGES), ("labels-idx1", LABELS))
}

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("tensorflow_datasets") is None, reason="an extra of the package"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),  # of tensorflow-datasets' parts
]


@pytest.fixture
def server():
    """A server of the four files; `asked` lists the files that were fetched, and tests may change `content`."""

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.do_GET()

        def do_GET(self):
            body = served.content.get(self.path[1:])
            self.send_response(200 if body is not None else 404)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            if self.command == "GET":
                served.asked.append(self.path[1:])
                self.wfile.write(body or b"")

        def log_message(self, *args):
            pass

    served: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.content, served.asked = dict(CONTENT), []
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    yield served
    served.shutdown()
    served.server_close()
    thread.join()


@pytest.fixture
def row(monkeypatch):
    """Makes FashionMNIST come from an address, with the checksums of the files above."""
    monkeypatch.setenv("NO_PROXY", "*")

    def at(port):
        files = tuple(catalog.File(name, len(body), hashlib.sha256(body).hexdigest()) for name, body in CONTENT.items())
        order = [file.name for file in catalog.FASHION_MNIST.files]
        changed = replace(
            catalog.FASHION_MNIST,
            source=f"http://127.0.0.1:{port}/",
            files=tuple(sorted(files, key=lambda file: order.index(file.name))),
        )
        monkeypatch.setattr(FashionMNIST, "row", changed)

    return at


def test_missing_files_are_downloaded(tmp_path, server, row):
    row(server.server_port)
    raw = tmp_path / "FashionMNIST" / "raw"
    raw.mkdir(parents=True)
    (raw / "t10k-labels-idx1-ubyte").write_bytes(idx(LABELS))
    data = FashionMNIST(str(tmp_path), download=True)
    assert data.targets.tolist() == LABELS.tolist()
    assert sorted(server.asked) == sorted(CONTENT.keys() - {"t10k-labels-idx1-ubyte.gz"})
    assert sorted(path.name for path in raw.iterdir()) == sorted([*server.asked, "t10k-labels-idx1-ubyte"])
    server.asked.clear()
    FashionMNIST(str(tmp_path), download=True)
    assert server.asked == []


def test_a_changed_file_is_refused(tmp_path, server, row):
    row(server.server_port)
    server.content["train-images-idx3-ubyte.gz"] = gzip.compress(idx(np.zeros_like(IMAGES)))
    with pytest.raises(RuntimeError, match=r"FashionMNIST could not be downloaded .*wrong checksum"):
        FashionMNIST(str(tmp_path), download=True)
    assert list((tmp_path / "FashionMNIST" / "raw").iterdir()) == []


def test_a_missing_file_is_named(tmp_path, server, row):
    row(server.server_port)
    del server.content["train-labels-idx1-ubyte.gz"]
    with pytest.raises(RuntimeError) as error:
        FashionMNIST(str(tmp_path), download=True)
    text = str(error.value)
    assert "FashionMNIST could not be downloaded" in text
    assert "train-labels-idx1-ubyte.gz. HTTP code: 404" in text
    assert f"to be put into {tmp_path / 'FashionMNIST' / 'raw'}" in text


def test_no_server_is_told_at_once(tmp_path, row):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        row(unused.getsockname()[1])
        begin = time.monotonic()
        with pytest.raises(RuntimeError) as error:
            FashionMNIST(str(tmp_path), download=True)
    assert time.monotonic() - begin < 10
    names = ", ".join(file.name for file in FashionMNIST.row.files)
    assert f"Wanted: {names} from http://127.0.0.1" in str(error.value)


def test_without_tensorflow_datasets_the_error_names_the_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_datasets.core.download", None)
    with pytest.raises(
        ImportError, match=r"download=True needs tensorflow-datasets \(pip install 'torchlike\[datasets\]'\)"
    ):
        FashionMNIST(str(tmp_path), download=True)


def test_the_manager_has_what_the_door_changes():
    from tensorflow_datasets.core.download import downloader

    from torchlike.vision.datasets._tfds import RETRIES, _few_retries

    before = downloader.MAX_RETRIES
    with _few_retries():
        assert downloader.MAX_RETRIES == RETRIES < before
    assert before == downloader.MAX_RETRIES


@pytest.mark.parametrize("row", [catalog.MNIST, catalog.FASHION_MNIST, catalog.KMNIST], ids=lambda row: row.name)
def test_the_rows_agree_with_tensorflow_datasets(row):
    from tensorflow_datasets.core.download import checksums

    known = checksums.get_all_url_infos()
    for file in row.files:
        info = known[row.source + file.name]
        assert (info.size, info.checksum) == (file.size, file.sha256)
