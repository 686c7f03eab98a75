"""accelerate: preparing a loop, accumulation, gradient clipping, an empty model that is filled from a checkpoint."""

import tempfile

import torch
from accelerate import Accelerator, init_empty_weights, load_checkpoint_and_dispatch
from accelerate.utils import set_seed

set_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(32, 4)
loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8, shuffle=True
)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for a, b in loader:
    with accelerator.accumulate(model):
        loss = torch.nn.functional.mse_loss(model(a), b)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    print(f"{loss.item():.5f}", accelerator.gather(loss.detach()).shape)
with tempfile.TemporaryDirectory() as folder:
    accelerator.save_model(model, folder)
    with init_empty_weights():
        empty = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    print(empty[0].weight.device)
    full = load_checkpoint_and_dispatch(empty, folder, device_map={"": "cpu"})
print(full[0].weight.device, f"{full(x).sum().item():.5f} {accelerator.unwrap_model(model)(x).sum().item():.5f}")
