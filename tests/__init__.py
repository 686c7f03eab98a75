"""Tests, in the folders of the package that they test; rows and helpers are imported as `tests.nn.modules.layers`."""
