"""The adapter to tensorboardX: ``SummaryWriter``, with PyTorch's signatures, for torchlike's tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

try:
    import tensorboardX
except ModuleNotFoundError as error:
    if error.name != "tensorboardX":
        raise
    raise ModuleNotFoundError(
        "No module named 'tensorboardX': torch.utils.tensorboard stands on it (pip install 'torchlike[tensorboard]')",
        name="tensorboardX",
    ) from None

from .._core.tensor import Tensor
from .._missing import explain_missing

__all__ = ["SummaryWriter"]


def _plain(value: Any) -> Any:
    """A value with arrays in place of tensors, also in lists and dictionaries. Dtypes that NumPy lacks become float32."""
    if isinstance(value, Tensor):
        array = value._array()
        return array if array.dtype.kind in "biufc" else array.astype(np.float32)
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return type(value)(map(_plain, value)) if type(value) in (list, tuple) else value


def _refuse(method: str, **options: object) -> None:
    for name, value in options.items():
        if value:
            raise NotImplementedError(f"torchlike does not support SummaryWriter.{method}({name}=) yet")


def _taking_tensors(name: str) -> Any:
    """A method of tensorboardX's writer whose arguments have the same names as PyTorch's."""
    method = getattr(tensorboardX.SummaryWriter, name)

    def call(self: SummaryWriter, *args: object, **kwargs: object) -> Any:
        return method(self, *_plain(args), **_plain(kwargs))

    call.__name__, call.__qualname__, call.__doc__ = name, f"SummaryWriter.{name}", method.__doc__
    return call


class SummaryWriter(tensorboardX.SummaryWriter):
    """Writes an event file for TensorBoard into a folder, which may contain the files of other runs too.

    Args:
        log_dir: the folder. None creates one under ``runs``, named by the time and the host.
        comment: the end of the folder's name, if ``log_dir`` is None.
        purge_step: what was written of this step and later ones, before a crash, is not shown.
        max_queue, flush_secs: how many events, or seconds, may wait to be written.
        filename_suffix: of the event files.

    Every ``add_*`` takes tensors, alone or in lists and dictionaries. Reading them ends the recorded segment, as ``item`` does.

    >>> import tempfile
    >>> from torchlike.utils.tensorboard import SummaryWriter
    >>> with SummaryWriter(tempfile.mkdtemp()) as writer:
    ...     writer.add_scalar("loss", torch.tensor(0.5), global_step=1)
    ...     writer.add_histogram("weight", torch.randn(100), global_step=1)

    Source: https://docs.pytorch.org/docs/stable/tensorboard.html, https://tensorboardx.readthedocs.io
    """

    def __init__(
        self,
        log_dir: object = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        super().__init__(
            None if log_dir is None else str(log_dir), comment, purge_step, max_queue, flush_secs, filename_suffix
        )

    @property
    def log_dir(self) -> str:
        """The folder of the event file."""
        return self.logdir

    def get_logdir(self) -> str:
        """The folder of the event file."""
        return self.logdir

    # The arguments of these methods are already PyTorch's.
    add_scalars: Any = _taking_tensors("add_scalars")
    add_histogram: Any = _taking_tensors("add_histogram")
    add_histogram_raw: Any = _taking_tensors("add_histogram_raw")
    add_image: Any = _taking_tensors("add_image")
    add_video: Any = _taking_tensors("add_video")
    add_audio: Any = _taking_tensors("add_audio")
    add_embedding: Any = _taking_tensors("add_embedding")
    add_pr_curve: Any = _taking_tensors("add_pr_curve")
    add_pr_curve_raw: Any = _taking_tensors("add_pr_curve_raw")
    add_mesh: Any = _taking_tensors("add_mesh")

    def add_scalar(
        self,
        tag: str,
        scalar_value: object,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """A point of a curve. ``new_style`` and ``double_precision`` are not supported yet."""
        _refuse("add_scalar", new_style=new_style, double_precision=double_precision)
        super().add_scalar(tag, _plain(scalar_value), global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: Mapping[str, object],
        hparam_domain_discrete: object = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """The settings of a run, and its results. ``hparam_domain_discrete`` is not supported yet."""
        _refuse("add_hparams", hparam_domain_discrete=hparam_domain_discrete)
        settings = {key: value.item() if isinstance(value, Tensor) else value for key, value in hparam_dict.items()}
        if not all(isinstance(value, (bool, int, float, str)) for value in settings.values()):
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        super().add_hparams(settings, _plain(metric_dict), run_name, global_step)

    def add_images(
        self,
        tag: str,
        img_tensor: object,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Pictures, ``(N, C, H, W)``; or a list of pictures, with the ``dataformats`` of one."""
        pictures = _plain(img_tensor)
        if isinstance(pictures, list):  # tensorboardX would stack them with PyTorch
            pictures, dataformats = np.stack(pictures), f"N{dataformats}"
        super().add_images(tag, pictures, global_step, walltime, dataformats)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Tensor,
        box_tensor: object,
        global_step: int | None = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: list[str] | None = None,
    ) -> None:
        """A picture with boxes drawn on it, ``(xmin, ymin, xmax, ymax)`` each."""
        super().add_image_with_boxes(
            tag, _plain(img_tensor), _plain(box_tensor), global_step, walltime, dataformats, labels, rescale=rescale
        )

    def add_graph(self, *args: object, **kwargs: object) -> None:
        """Not supported yet: torchlike records operations, and no graph of modules."""
        raise NotImplementedError("torchlike does not support SummaryWriter.add_graph yet")

    def add_tensor(self, *args: object, **kwargs: object) -> None:
        """Not supported yet: tensorboardX writes no plain tensors."""
        raise NotImplementedError("torchlike does not support SummaryWriter.add_tensor yet")


explain_missing(__name__)  # imported last
