"""Views of memory, storages, and operations that join, split and copy without computing."""
