"""torch.hub on repositories: a folder, and an archive as GitHub makes them."""

import os
import sys
import zipfile

import pytest

import torchlike as torch
from torchlike.hub import _repositories as repositories

pytestmark = pytest.mark.recorded

HUBCONF = '''
dependencies = ["math"]
import helper
def model(n=2, **options):
    """A model of n numbers."""
    return helper.PREFIX + str(n) + str(options)
def _hidden(): pass
number = 3
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "hubconf.py").write_text(HUBCONF)
    (tmp_path / "repo" / "helper.py").write_text("PREFIX = 'n='")
    yield tmp_path / "repo"
    sys.modules.pop("helper", None)


@pytest.fixture
def hub(tmp_path, folder, monkeypatch):
    """A folder for repositories, with downloads that pack the folder as GitHub does."""
    monkeypatch.setattr(torch.hub._HubSettings, "directory", str(tmp_path / "hub"))
    fetched: list[str] = []

    def download(url: str, path: str, hash_prefix: object = None, progress: bool = True) -> None:
        fetched.append(url)
        with zipfile.ZipFile(path, "w") as archive:
            for file in os.listdir(folder):
                if file.endswith(".py"):
                    archive.write(folder / file, f"owner-repo-1a2b/{file}")

    monkeypatch.setattr(torch.hub, "download_url_to_file", download)
    return fetched


def test_an_entry_point_of_a_folder(folder):
    assert torch.hub.load(str(folder), "model", 3, source="local", a=1) == "n=3{'a': 1}"
    with pytest.raises(RuntimeError, match="^Cannot find callable number in hubconf$"):
        torch.hub.load(str(folder), "number", source="local")
    with pytest.raises(ValueError, match='^Unknown source: "disk". Allowed values: "github" | "local".$'):
        torch.hub.load(str(folder), "model", source="disk")
    assert str(folder) not in sys.path


def test_missing_packages_are_named(folder):
    (folder / "hubconf.py").write_text("dependencies = ['torch', 'no_such_package']\ndef model(): pass")
    with pytest.raises(RuntimeError, match="^Missing dependencies: no_such_package$"):
        torch.hub.load(str(folder), "model", source="local")


def test_a_repository_is_fetched_once(hub, capsys):
    assert torch.hub.list("owner/repo", trust_repo=True) == ["model"]
    assert torch.hub.help("owner/repo", "model") == "A model of n numbers."  # trusted by now
    assert torch.hub.load("owner/repo:main", "model", verbose=False) == "n=2{}"
    assert hub == ["https://github.com/owner/repo/zipball/main"]
    torch.hub.load("owner/repo:main", "model", force_reload=True, verbose=False)
    assert len(hub) == 2 and "Using cache found in" in capsys.readouterr().err


def test_an_unknown_repository_asks(hub, monkeypatch):
    monkeypatch.setattr("builtins.input", lambda question: "n")
    with pytest.raises(RuntimeError, match="^Untrusted repository.$"):
        torch.hub.load("stranger/repo", "model")
    assert not hub


def test_an_archive_writes_nothing_outside_its_folder(tmp_path):
    archive = tmp_path / "bad.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("../outside.py", "")
    with pytest.raises(RuntimeError, match="outside of its folder"):
        repositories._unpack(str(archive), str(tmp_path / "inner" / "repo"))
    assert not (tmp_path / "inner" / "outside.py").exists()
