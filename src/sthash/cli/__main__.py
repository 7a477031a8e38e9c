"""``python -m sthash.cli`` is ``sth``."""

from sthash.cli import main

if __name__ == "__main__":
    main()
