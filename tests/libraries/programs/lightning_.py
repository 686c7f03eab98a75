"""lightning: a module, a Trainer with validation and a checkpoint."""

import logging
import tempfile
import warnings

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import lightning as L
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint


class Model(L.LightningModule):
    def __init__(self, width=8):
        super().__init__()
        self.save_hyperparameters()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 1))

    def training_step(self, batch, number):
        loss = torch.nn.functional.mse_loss(self.layers(batch[0]), batch[1])
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, number):
        self.log("val_loss", torch.nn.functional.mse_loss(self.layers(batch[0]), batch[1]))

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]


class Print(Callback):
    def on_train_epoch_end(self, trainer, module):
        print(
            {k: round(v.item(), 5) for k, v in sorted(trainer.callback_metrics.items())},
            trainer.optimizers[0].param_groups[0]["lr"],
        )


L.seed_everything(0, verbose=False)
x = torch.randn(32, 4)
data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
loader = lambda **k: torch.utils.data.DataLoader(data, batch_size=8, **k)
with tempfile.TemporaryDirectory() as folder:
    checkpoint = ModelCheckpoint(folder, monitor="val_loss")
    trainer = L.Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[Print(), checkpoint],
        gradient_clip_val=1.0,
    )
    trainer.fit(Model(), loader(shuffle=True), loader())
    best = Model.load_from_checkpoint(checkpoint.best_model_path)
    print(best.hparams, f"{best.layers(x).sum().item():.4f} {checkpoint.best_model_score.item():.5f}")
