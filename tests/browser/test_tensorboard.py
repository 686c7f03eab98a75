"""TensorBoard itself, in a browser without a window, shows what torch.utils.tensorboard wrote.

Needs tensorboard and Chromium; CHROMIUM names the browser's program if it is not on the path:

    pip install tensorboard; apt install chromium-headless-shell; python -m pytest tests/browser
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

import torchlike as torch
from torchlike.utils.tensorboard import SummaryWriter

pytest.importorskip("tensorboard")
pytest.importorskip("tensorboardX")

pytestmark = pytest.mark.recorded

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
BROWSER = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
SECONDS_TO_START = 120


@pytest.fixture
def address(tmp_path):
    """The address at which TensorBoard shows a training run of three steps."""
    with SummaryWriter(tmp_path / "logs") as writer:
        for step in range(3):
            writer.add_scalar("train/loss", torch.tensor(1.0 / (step + 1)), step)
        writer.add_histogram("weights", torch.arange(10.0), 0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(tmp_path / "logs"), "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(f"http://127.0.0.1:{port}/data/runs", server)
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.terminate()
        server.wait(30)


def _wait_for(address, server):
    """Waits until TensorBoard has read the run."""
    end = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                if b"." in answer.read():
                    return
        except OSError:
            pass
        time.sleep(0.5)
    pytest.fail("TensorBoard did not start")


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
def test_the_page_shows_the_curve_and_the_histogram(address, tmp_path):
    assert BROWSER is not None
    options = [
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={tmp_path / 'profile'}"),
        *("--virtual-time-budget=60000", "--window-size=1400,1000", "--dump-dom"),
    ]  # fmt: skip
    done = subprocess.run([BROWSER, *options, f"{address}#timeseries"], capture_output=True, text=True, timeout=180)
    page = re.sub(r"<(script|style).*?</\1>", "", done.stdout, flags=re.DOTALL)
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page))
    assert "train /loss" in words, (words, done.stderr[-1000:])
    assert "0.3333 2" in words  # the value of the last step, below the curve
    assert "weights" in words
