"""SpeechBrain: features, an ECAPA-TDNN, CTC, and a Brain that trains."""

import tempfile
import warnings

import torch

warnings.filterwarnings("ignore")
import speechbrain as sb
from speechbrain.dataio.batch import PaddedBatch
from speechbrain.lobes.features import MFCC, Fbank
from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN
from speechbrain.nnet.losses import ctc_loss, nll_loss
from speechbrain.nnet.RNN import LiGRU

torch.manual_seed(0)
sound = torch.randn(2, 8000) * 0.1
banks, coefficients = Fbank(n_mels=20)(sound), MFCC(n_mels=20, n_mfcc=10)(sound)
print(banks.shape, f"{banks.mean().item():.4f}", coefficients.shape, f"{coefficients.mean().item():.4f}")
speaker = ECAPA_TDNN(
    20,
    channels=[16] * 5,
    attention_channels=8,
    lin_neurons=12,
    kernel_sizes=[5, 3, 3, 3, 1],
    res2net_scale=4,
    se_channels=8,
)
print(f"{speaker(banks).square().sum().item():.3f}")
out, _ = LiGRU(input_shape=(2, 10, 20), hidden_size=8, num_layers=2, bidirectional=True)(banks[:, :10])
print(out.shape, f"{out.sum().item():.4f}")
scores = torch.randn(2, 12, 5).log_softmax(-1)
print(
    f"{ctc_loss(scores, torch.tensor([[1, 2, 3], [2, 4, 0]]), torch.tensor([1.0, 0.8]), torch.tensor([1.0, 0.67]), 0).item():.4f}"
)


class Classifier(sb.Brain):
    def compute_forward(self, batch, stage):
        return self.modules.net(batch.x.data).log_softmax(-1)

    def compute_objectives(self, predictions, batch, stage):
        return nll_loss(predictions.unsqueeze(1), batch.y.data)

    def on_stage_end(self, stage, stage_loss, epoch=None):
        print(stage.name, f"{stage_loss:.4f}")


examples = [{"x": torch.full((4,), float(n % 3)), "y": torch.tensor([n % 3])} for n in range(12)]
with tempfile.TemporaryDirectory() as folder:
    brain = Classifier(
        {"net": torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LeakyReLU(), torch.nn.Linear(8, 3))},
        lambda parameters: torch.optim.Adam(parameters, 0.05),
        run_opts={"device": "cpu", "noprogressbar": True},
    )
    loader = torch.utils.data.DataLoader(examples, batch_size=4, collate_fn=PaddedBatch)
    brain.fit(range(2), loader, loader, progressbar=False)
    print(f"{brain.evaluate(loader, progressbar=False):.4f}")
