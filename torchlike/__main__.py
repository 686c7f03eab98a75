"""``python -m torchlike script.py``."""

from ._runner import main

if __name__ == "__main__":
    main()
