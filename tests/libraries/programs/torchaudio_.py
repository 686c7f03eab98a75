"""torchaudio: spectrograms, filters and their gradients, a transducer's loss, alignment, and a Conformer."""

import torch
import torchaudio
import torchaudio.functional as F

torch.manual_seed(0)
time = torch.arange(2000) / 8000
sound = torch.stack([torch.sin(2 * torch.pi * 440 * time), torch.sin(2 * torch.pi * 900 * time * (1 + time))])
for transform in (
    torchaudio.transforms.MelSpectrogram(8000, n_fft=128, n_mels=10),
    torchaudio.transforms.MFCC(8000, n_mfcc=8, melkwargs={"n_fft": 128, "n_mels": 16}),
    torchaudio.transforms.Resample(8000, 6000),
    torchaudio.transforms.AmplitudeToDB(),
):
    out = transform(sound)
    print(type(transform).__name__, tuple(out.shape), f"{out.abs().mean().item():.4f}")
x = sound.clone().requires_grad_()
poles = torch.tensor([1.0, -0.5, 0.2], requires_grad=True)
zeros = torch.tensor([0.3, 0.2, 0.1], requires_grad=True)
F.lfilter(x, poles, zeros).square().mean().backward()
print([f"{v:.4f}" for v in poles.grad.tolist()], [f"{v:.4f}" for v in zeros.grad.tolist()])
for filtered in (F.lowpass_biquad(sound, 8000, 1000), F.overdrive(sound), F.phaser(sound, 8000), F.deemphasis(sound)):
    print(f"{filtered.abs().mean().item():.4f}")
logits = torch.randn(2, 6, 4, 5, requires_grad=True)
targets, steps, lengths = (
    torch.tensor([[1, 2, 2], [3, 1, 0]]).int(),
    torch.tensor([6, 5]).int(),
    torch.tensor([3, 2]).int(),
)
loss = F.rnnt_loss(logits, targets, steps, lengths, blank=0)
loss.backward()
print(f"{loss.item():.4f} {logits.grad.abs().sum().item():.4f}")
labels, scores = F.forced_align(torch.randn(1, 12, 5).log_softmax(-1), torch.tensor([[1, 1, 3]]), blank=0)
print(labels.tolist(), f"{scores.sum().item():.4f}", len(F.merge_tokens(labels[0], scores[0].exp())))
conformer = torchaudio.models.Conformer(10, 2, 16, 1, 3)
encoded, _ = conformer(torch.randn(2, 7, 10), torch.tensor([7, 5]))
print(encoded.shape, f"{encoded.square().sum().item():.3f}")
