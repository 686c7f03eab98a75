"""Reinforcement learning: an actor and a critic on a line, actions drawn from a distribution, discounted returns."""

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 16)
        self.actor, self.critic = nn.Linear(16, 2), nn.Linear(16, 1)

    def forward(self, state):
        h = torch.tanh(self.body(state))
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


torch.manual_seed(0)
np.random.seed(0)
model = ActorCritic()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
average = 0.0
for episode in range(12):
    at, log_probs, values, rewards, entropies = float(np.random.uniform(-1, 1)), [], [], [], []
    for t in range(12):
        distribution, value = model(torch.tensor([at, t / 12]))
        action = distribution.sample()
        at += 0.2 if action.item() else -0.2
        log_probs.append(distribution.log_prob(action))
        values.append(value)
        entropies.append(distribution.entropy())
        rewards.append(-abs(at))
        if abs(at) > 1.5:
            break
    returns, R = [], 0.0
    for reward in reversed(rewards):
        R = reward + 0.95 * R
        returns.insert(0, R)
    returns, values = torch.tensor(returns), torch.stack(values)
    advantage = returns - values.detach()
    loss = -(torch.stack(log_probs) * advantage).mean() + nn.functional.smooth_l1_loss(values, returns)
    loss = loss - 0.01 * torch.stack(entropies).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average = 0.9 * average + 0.1 * sum(rewards)
    if episode % 4 == 3:
        print(f"episode {episode + 1}: steps {len(rewards)}, loss {loss.item():.4f}, average {average:.4f}")
