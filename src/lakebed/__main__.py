"""`python -m lakebed`, and the file that `spark-submit` runs: `lakebed doctor` prints where it lies."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # A file that is run has its own folder in front of the path, where our packages would hide others of their name.
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != here]
    from lakebed.cli import main

    main()
