"""The models: torchvision's names, shapes, initial weights and results; weights from files and addresses; frozen layers."""

import hashlib
import io
import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torchlike as torch
from tests.vision.models.model_cases import NAMES, SMALL, picture, structure
from torchlike import hub, nn
from torchlike.vision import models, transforms
from torchlike.vision.models import resnet as resnet_module

pytestmark = pytest.mark.composed

EXAMPLE = Path(__file__).parents[3] / "examples" / "fine_tune.py"


@pytest.fixture
def unfilled(monkeypatch):
    """Leaves parameters zero: names and shapes do not need a hundred million random numbers."""
    for name in [n for n in vars(nn.init) if n.endswith("_") and not n.startswith("_")]:
        monkeypatch.setattr(nn.init, name, lambda tensor, *args, **kwargs: tensor)


def kind_of(name) -> Any:
    """Returns the enum of a model's weights."""
    return next(k for k in models.WeightsEnum.__subclasses__() if k.__name__.lower() == f"{name}_weights")


@pytest.mark.costly
@pytest.mark.parametrize("name", NAMES)
def test_a_state_has_torchvisions_names_and_shapes(name, golden, unfilled):
    model = getattr(models, name)()
    assert structure(model) == golden("models")["structures"][name]
    kind = kind_of(name)
    assert sum(p.numel() for p in model.parameters()) == kind.DEFAULT.meta["num_params"]


@pytest.mark.costly
@pytest.mark.parametrize("name", SMALL)
def test_a_seeded_model_gives_what_torchvisions_gives(name, golden):
    torch.manual_seed(0)
    model = SMALL[name](models, torch).eval()
    with torch.no_grad():
        found = model(picture(torch))
    assert torch.allclose(found, torch.tensor(golden("models")["outputs"][name]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_where_torchvision_has_them(name, golden):
    kind = kind_of(name)
    recorded = golden("models")["weights"][name]
    assert kind.DEFAULT.name == recorded["DEFAULT"]
    assert {each.name: [each.url, each.meta["num_params"]] for each in kind}.items() <= recorded.items()


def test_models_go_by_their_names():
    found = models.list_models(include=["resnet*", "vit_b*"], exclude=["*50", "resnet1?[12]"])
    assert found == ["resnet18", "resnet34", "vit_b_16", "vit_b_32"]
    assert models.list_models(module=models.mobilenetv3) == ["mobilenet_v3_large", "mobilenet_v3_small"]
    assert len(models.list_models()) == len(NAMES)
    for name in models.list_models():
        assert models.get_model_builder(name) is getattr(models, name)
        assert models.get_model_weights(name) is models.get_model_weights(getattr(models, name)) is kind_of(name)
    weight = models.get_weight("ResNet50_Weights.IMAGENET1K_V2")
    assert weight is models.ResNet50_Weights.DEFAULT
    with pytest.raises(ValueError, match="^Unknown model resnet19$"):
        models.get_model("resnet19")
    with pytest.raises(ValueError, match=r"^Invalid weight name provided: 'ResNet50_Weights'\.$"):
        models.get_weight("ResNet50_Weights")


def test_weights_say_what_pictures_go_through():
    image_module = pytest.importorskip("PIL.Image")
    assert "resize_size=[232]" in repr(models.ResNet50_Weights.DEFAULT.transforms())
    pixels = np.arange(300 * 400 * 3, dtype=np.uint8).reshape(300, 400, 3)
    found = models.ResNet18_Weights.DEFAULT.transforms()(image_module.fromarray(pixels))
    steps = transforms.Compose(
        [
            transforms.Resize(256),
            transforms.CenterCrop(224),
            transforms.ToTensor(),
            transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ]
    )
    assert found.shape == (3, 224, 224)
    assert torch.equal(found, steps(image_module.fromarray(pixels)))
    of_tensor = models.ResNet18_Weights.DEFAULT.transforms()(transforms.PILToTensor()(image_module.fromarray(pixels)))
    assert (of_tensor - found).abs().max() < 0.02  # half a byte, over the standard deviation
    smaller = models.ResNet18_Weights.DEFAULT.transforms(crop_size=8, resize_size=10)
    assert smaller(image_module.fromarray(pixels)).shape == (3, 8, 8)


def test_the_parts_of_a_mobilenet():
    torch.manual_seed(0)
    rows = models.mobilenetv3._SMALL[:2]
    model = models.MobileNetV3(rows, 8, num_classes=3)
    out = model(torch.rand(2, 3, 16, 16))
    assert out.shape == (2, 3)
    out.sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    assert "features.1.block.1.fc1.weight" in model.state_dict()


def test_a_transformer_says_which_pictures_it_takes():
    model = SMALL["transformer"](models, torch)
    with pytest.raises(AssertionError, match=r"^Wrong image height! Expected 32 but got 16!$"):
        model(torch.zeros(1, 3, 16, 32))
    with pytest.raises(AssertionError, match=r"^Input shape indivisible by patch size!$"):
        models.VisionTransformer(32, 7, 1, 1, 4, 4)


def test_a_transformer_takes_weights_under_their_old_names():
    model = SMALL["transformer"](models, torch)
    state = {
        name.replace("mlp.0.", "mlp.linear_1.").replace("mlp.3.", "mlp.linear_2."): tensor + 1
        for name, tensor in model.state_dict().items()
    }
    assert "encoder.layers.encoder_layer_0.mlp.linear_1.weight" in state
    model.load_state_dict(state)
    last = "encoder.layers.encoder_layer_1.mlp"
    assert torch.equal(model.state_dict()[f"{last}.3.bias"], state[f"{last}.linear_2.bias"])


# ---- weights


@pytest.fixture
def small(monkeypatch):
    """A resnet18 with a single block in each stage."""
    whole = models.ResNet
    make = lambda block, layers, **options: whole(block, [1, 1, 1, 1], **options)  # noqa: E731
    monkeypatch.setattr(resnet_module, "ResNet", make)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(hub._HubSettings, "directory", None)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "hub" / "checkpoints"


def saved(folder, **options):
    """Returns a file with the weights of a model, named after its hash, and the model."""
    model = models.resnet18(**options)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    path = folder / f"small-{hashlib.sha256(file.getvalue()).hexdigest()[:8]}.pth"
    path.write_bytes(file.getvalue())
    return path, model


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


def test_weights_of_a_file(tmp_path, small):
    path, model = saved(tmp_path, num_classes=3)
    assert same(models.resnet18(weights=path, num_classes=3), model)
    assert same(models.resnet18(weights=str(path), num_classes=3), model)
    with pytest.raises(RuntimeError, match="size mismatch for fc.weight: copying a param with shape"):
        models.resnet18(weights=path)


def test_weights_of_a_safetensors_file(tmp_path, small):
    files = pytest.importorskip("torchlike.safetensors")
    model = models.resnet18(num_classes=3)
    files.save_file(dict(model.state_dict()), tmp_path / "x.safetensors")
    assert same(models.resnet18(weights=tmp_path / "x.safetensors", num_classes=3), model)


def test_weights_of_an_address_are_checked_and_kept(tmp_path, small, cache, capsys):
    path, model = saved(tmp_path, num_classes=3)
    address = path.as_uri()
    assert same(models.resnet18(weights=address, num_classes=3), model)
    said = capsys.readouterr().err
    assert said.startswith(f'Downloading: "{address}" to {cache / path.name}\n')
    assert "100%" in said
    path.unlink()  # the second call does not fetch it again
    assert same(models.resnet18(weights=address, num_classes=3, progress=False), model)
    assert capsys.readouterr().err == ""


def test_weights_with_another_hash_are_not_kept(tmp_path, small, cache):
    path, _ = saved(tmp_path, num_classes=3)
    wrong = path.rename(tmp_path / "small-00000000.pth")
    with pytest.raises(RuntimeError, match=r'^invalid hash value \(expected "00000000", got "[0-9a-f]{64}"\)$'):
        models.resnet18(weights=wrong.as_uri(), num_classes=3, progress=False)
    assert list(cache.iterdir()) == []


def test_members_of_the_enum(tmp_path, small, cache):
    path, model = saved(tmp_path)
    cache.mkdir(parents=True)
    (cache / "resnet18-f37072fd.pth").write_bytes(path.read_bytes())  # as if it had been downloaded before
    kind = models.ResNet18_Weights
    for weights in (kind.DEFAULT, kind.IMAGENET1K_V1, "DEFAULT", "IMAGENET1K_V1", "ResNet18_Weights.DEFAULT"):
        assert same(models.resnet18(weights=weights), model)
    with pytest.warns(UserWarning, match="The parameter 'pretrained' is deprecated since 0.13"):
        assert same(models.resnet18(pretrained=True), model)
    with pytest.raises(ValueError, match=r"The parameter 'num_classes' expected value 1000 but got 10 instead\."):
        models.resnet18(weights=kind.DEFAULT, num_classes=10)
    with pytest.raises(
        TypeError, match=r"Invalid Weight class provided; expected ResNet18_Weights but received ResNet34_Weights\."
    ):
        models.resnet18(weights=models.ResNet34_Weights.DEFAULT)
    with pytest.raises(KeyError, match="IMAGENET1K_V9"):
        models.resnet18(weights="IMAGENET1K_V9")


def test_a_download_that_ends_early_leaves_nothing(tmp_path, monkeypatch):
    class Source(io.BytesIO):
        headers = {"Content-Length": "100"}

    monkeypatch.setattr("urllib.request.urlopen", lambda request: Source(b"half"))
    with pytest.raises(RuntimeError, match=r"^the download of http://x/y ended after 4 of 100 bytes$"):
        hub.download_url_to_file("http://x/y", tmp_path / "y", progress=False)
    assert list(tmp_path.iterdir()) == []


def test_where_downloads_are_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(hub._HubSettings, "directory", None)
    monkeypatch.delenv("TORCH_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert hub.get_dir() == "/somewhere/torch/hub"
    hub.set_dir(tmp_path)
    assert hub.get_dir() == str(tmp_path)


# ---- frozen layers


def test_frozen_layers_stay_as_they_are(small):
    model = models.resnet18(num_classes=5).eval()
    for parameter in model.parameters():
        parameter.requires_grad = False
    model.fc = nn.Linear(512, 3)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = nn.functional.cross_entropy(model(picture(torch)), torch.tensor([1]))
    loss.backward()
    optimizer.step()
    changed = [name for name, tensor in model.state_dict().items() if not torch.equal(tensor, before[name])]
    assert changed == ["fc.weight", "fc.bias"]
    assert model.conv1.weight.grad is None


class Tiny(nn.Module):
    """A small model whose last layer has the same name as ResNet's, so that it compiles in seconds."""

    def __init__(self, num_classes=1000):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 4, 3, stride=4), nn.BatchNorm2d(4)
        self.fc = nn.Linear(4 * 7 * 7, num_classes)

    def forward(self, x):
        return self.fc(self.bn(self.conv(x)).relu().flatten(1))


def test_the_example_runs(monkeypatch, capsys):
    monkeypatch.setattr(resnet_module, "ResNet", lambda block, layers, **options: Tiny(**options))
    sample = Path(torch.__file__).parent / "vision" / "datasets" / "sample"
    monkeypatch.setattr("sys.argv", [str(EXAMPLE), "--root", str(sample), "--images", "64", "--target", "0"])
    monkeypatch.syspath_prepend(str(EXAMPLE.parent))
    program = runpy.run_path(str(EXAMPLE))
    program["main"].__globals__["TESTED"] = 64
    program["main"]()
    said = capsys.readouterr().out
    assert re.search(r"^Fine-tuned on 5 other classes: \d+\.\d% right, \d+\.\d% before$", said, re.MULTILINE)
    assert "Frozen tensors unchanged: True." in said
