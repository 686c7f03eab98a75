"""ignite: engines, handlers and metrics."""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, Loss

torch.manual_seed(0)
x = torch.randn(32, 4)
data = torch.utils.data.TensorDataset(x, (x.sum(1) > 0).long())
loader = torch.utils.data.DataLoader(data, batch_size=8)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
trainer = create_supervised_trainer(
    model, torch.optim.Adam(model.parameters(), lr=0.01), torch.nn.functional.cross_entropy
)
evaluator = create_supervised_evaluator(
    model, {"accuracy": Accuracy(), "loss": Loss(torch.nn.functional.cross_entropy)}
)


@trainer.on(Events.EPOCH_COMPLETED)
def evaluate(engine):
    evaluator.run(loader)
    print(
        engine.state.epoch,
        f"{engine.state.output:.5f}",
        {k: round(v, 5) for k, v in sorted(evaluator.state.metrics.items())},
    )


trainer.run(loader, max_epochs=3)
