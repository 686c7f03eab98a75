"""nnAudio: spectrograms as layers, one of them trained."""

import torch
from nnAudio import features

torch.manual_seed(0)
time = torch.arange(4096) / 8000
x = torch.stack([torch.sin(2 * torch.pi * 440 * time), torch.sin(2 * torch.pi * 1000 * time * (1 + time))])
for layer in (
    features.STFT(n_fft=256, hop_length=64, output_format="Magnitude", sr=8000, verbose=False),
    features.MelSpectrogram(sr=8000, n_fft=256, n_mels=20, hop_length=64, verbose=False),
    features.MFCC(sr=8000, n_mfcc=8, n_fft=256, hop_length=64, n_mels=20, verbose=False),
    features.CQT1992v2(sr=8000, hop_length=64, fmin=220, n_bins=24, verbose=False),
    features.CQT2010v2(sr=8000, hop_length=64, fmin=220, n_bins=24, verbose=False),
    features.Gammatonegram(sr=8000, n_fft=256, n_bins=16, hop_length=64, verbose=False),
):
    out = layer(x)
    print(type(layer).__name__, tuple(out.shape), f"{out.abs().mean().item():.4f} {out.flatten()[37].item():.4f}")
stft = features.STFT(n_fft=128, hop_length=32, output_format="Complex", iSTFT=True, sr=8000, verbose=False)
back = stft.inverse(stft(x), length=x.shape[1])
print(f"{(back - x).abs().max().item() < 1e-3}")
mel = features.MelSpectrogram(
    sr=8000, n_fft=128, n_mels=10, hop_length=64, trainable_mel=True, trainable_STFT=True, verbose=False
)
optimizer = torch.optim.SGD(mel.parameters(), 1e-4)
for _ in range(3):
    loss = (mel(x) + 1).log().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
