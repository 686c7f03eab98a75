"""A program with options that stops, saves a checkpoint, and goes on from it as if it had not stopped."""

import argparse
import os
import random
import tempfile

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--resume")
    return parser.parse_args(arguments)


def seed_all(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)


def main(args, stop=None, folder=None):
    seed_all(args.seed)
    device = torch.device(args.device)
    X = torch.from_numpy(np.random.randn(48, 3).astype(np.float32))
    y = X @ torch.tensor([[1.0], [-2.0], [0.5]]) + 0.01 * torch.randn(48, 1)
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.SiLU(), torch.nn.Dropout(0.05), torch.nn.Linear(8, 1)
    ).to(device)
    optimizer = torch.optim.NAdam(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    first = 0
    if args.resume:
        state = torch.load(args.resume, map_location=device, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        torch.set_rng_state(state["rng"])
        first = state["epoch"]
    for epoch in range(first, args.epochs):
        losses = []
        for a, b in DataLoader(TensorDataset(X, y), batch_size=16, shuffle=True, drop_last=True):
            optimizer.zero_grad()
            loss = torch.nn.functional.huber_loss(model(a.to(device)), b.to(device))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        schedule.step()
        print(f"epoch {epoch}: {np.mean(losses):.6f}, lr {optimizer.param_groups[0]['lr']:.4f}")
        if epoch + 1 == stop:
            state = {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "schedule": schedule.state_dict(),
            }
            path = os.path.join(folder, "checkpoint.pt")
            torch.save({**state, "epoch": epoch + 1, "rng": torch.get_rng_state()}, path)
            return path
    return model


if __name__ == "__main__":
    args = parse()
    whole = main(args)
    with tempfile.TemporaryDirectory() as folder:
        args.resume = main(args, stop=2, folder=folder)
        resumed = main(args)
    print(all(torch.equal(a, b) for a, b in zip(whole.parameters(), resumed.parameters())))
