"""The page of benchmarks agrees with its data, and has its plots."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from benchmarks import described, sharded, topologies
from benchmarks.accelerator.steps import NEEDED, in_order, share

pytestmark = pytest.mark.recorded
DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_the_one_of_the_data():
    spec = importlib.util.spec_from_file_location("_benchmarks", DOCS / "_benchmarks.py")
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    folder = DOCS / "benchmarks"
    page = (folder / "index.md").read_text(encoding="utf-8")
    assert page == script.page(json.loads((folder / "results.json").read_text(encoding="utf-8")))
    plots = re.findall(r"\(([\w-]+\.svg)#", page)
    assert plots and all((folder / name).exists() for name in plots)


def test_the_table_of_steps_on_a_described_tpu_is_the_one_of_the_data():
    text, kept = described.KEPT.page.read_text(encoding="utf-8"), described.KEPT.read()
    assert text == described.KEPT.on_page(text, kept)
    for row in kept["rows"].values():
        ours = row["torchlike"]
        assert ours["programs"] == 1 and ours["host"] == ours["batch"] and ours["donated"] >= ours["state"]


def test_the_table_of_layouts_on_described_tpus_is_the_one_of_the_data():
    text, kept = sharded.KEPT.page.read_text(encoding="utf-8"), sharded.KEPT.read()
    assert text == sharded.KEPT.on_page(text, kept)
    assert [*kept["rows"]] == [*sharded.LAYOUTS]
    for row in kept["rows"].values():
        assert row["by_hand"] <= row["arguments"] < 1.01 * row["by_hand"]


@pytest.mark.parametrize("command", [described, sharded])
def test_without_the_compiler_for_tpus_the_command_says_so(monkeypatch, capsys, command):
    monkeypatch.setattr("sys.argv", ["command"])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    command.main()
    assert "pip install libtpu" in capsys.readouterr().out


def test_the_page_about_tpus_is_the_one_of_the_data():
    folder = DOCS / "benchmarks"
    kept = json.loads((folder / "topologies.json").read_text(encoding="utf-8"))
    assert (folder / "topologies.md").read_text(encoding="utf-8") == topologies.page(kept)
    assert [row["chips"] for row in kept["rows"]] == [8, 8, 256, 256, 4096, 4096]
    for kind in ("DP", "FSDP"):  # each chip does the same work, however many there are
        work = [row["flops"] for row in kept["rows"] if row["kind"] == kind]
        assert max(work) < 1.02 * min(work)


def test_each_model_gets_its_part_of_the_time_on_a_gpu_though_all_others_take_theirs():
    names, left, found = in_order(), 370.0, {}
    assert names.index("unet") < names.index("resnet50")  # what the quick ones leave goes to those that need more
    for number, name in enumerate(names):
        found[name] = share(names[number:], left)
        left -= found[name]
    assert found.keys() == NEEDED.keys() and abs(left) < 1e-6
    for name, seconds in found.items():
        assert seconds == pytest.approx(370 * NEEDED[name] / sum(NEEDED.values()))
