"""stable-baselines3: three algorithms on a small world."""

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import A2C, DQN, PPO


class World(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (3,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.time, self.state = 0, np.zeros(3, np.float32)
        return self.state, {}

    def step(self, action):
        self.time += 1
        self.state = np.tanh(self.state + (action - 0.5) * np.array([0.3, -0.2, 0.1], np.float32)).astype(np.float32)
        return self.state, float(self.state[0]), self.time >= 10, False, {}


torch.set_num_threads(1)
for kind, options in [
    (PPO, {"n_steps": 20, "batch_size": 10, "n_epochs": 2}),
    (A2C, {"n_steps": 5}),
    (DQN, {"learning_starts": 10, "buffer_size": 50, "batch_size": 8}),
]:
    model = kind("MlpPolicy", World(), seed=0, device="cpu", policy_kwargs={"net_arch": [8]}, **options).learn(40)
    action, _ = model.predict(np.array([0.1, 0.2, -0.1], np.float32), deterministic=True)
    print(kind.__name__, int(action), f"{sum(p.abs().sum() for p in model.policy.parameters()).item():.4f}")
