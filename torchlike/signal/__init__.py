"""torch.signal: windows for signals."""

from . import windows as windows
