"""Trains a policy to balance a pole on a cart, by policy gradients with a baseline (REINFORCE).

    python -m torchlike examples/reinforce.py
    python examples/reinforce.py                   with PyTorch itself

Exits with an error unless the pole stands for 150 of 200 steps on average at the end. Tensors hold the states of 32 carts, which are
simulated together.
"""

import sys

import torch
from torch import nn
from torch.distributions import Categorical

TARGET = 150
CARTS, STEPS = 32, 200


def move(state, action):
    """Returns the state (N, 4) of each cart, position, speed, angle and turning speed, 0.02 seconds after a push to one side."""
    x, speed, angle, turning = state.unbind(1)
    force = 20.0 * action - 10.0
    sin, cos = angle.sin(), angle.cos()
    push = (force + 0.05 * turning**2 * sin) / 1.1
    turned = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
    moved = push - 0.05 * turned * cos / 1.1
    return torch.stack([x + 0.02 * speed, speed + 0.02 * moved, angle + 0.02 * turning, turning + 0.02 * turned], 1)


def stands(state):
    return (state[:, 0].abs() < 2.4) & (state[:, 2].abs() < 0.2095)


def play(policy):
    """Simulates one round of all carts; returns the actions' log probabilities and whether each pole still stood, both (steps, N)."""
    state = torch.rand(CARTS, 4) * 0.1 - 0.05
    standing = torch.ones(CARTS)
    logs, alive = [], []
    for _ in range(STEPS):
        choice = Categorical(logits=policy(state))
        action = choice.sample()
        logs.append(choice.log_prob(action))
        alive.append(standing)
        state = move(state, action)
        standing = standing * stands(state)
        if not standing.any():
            break
    return torch.stack(logs), torch.stack(alive)


def main():
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.02)
    recent = []
    for update in range(30):
        logs, alive = play(policy)
        returns = alive.flip(0).cumsum(0).flip(0)  # (steps, N): for how many more steps each pole stands
        baseline = (returns * alive).sum(1, keepdim=True) / alive.sum(1, keepdim=True).clamp(min=1)
        advantage = (returns - baseline) * alive
        loss = -(logs * advantage / (advantage.std() + 1e-6)).sum() / alive.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent = [*recent[-4:], alive.sum(0).mean().item()]
        if update % 10 == 9:
            print(f"update {update + 1}: the pole stands for {recent[-1]:.1f} steps")

    mean = sum(recent) / len(recent)
    print(f"{mean:.1f} steps in the last rounds")
    if mean < TARGET:
        sys.exit(f"Expected {TARGET}.")


if __name__ == "__main__":
    main()
