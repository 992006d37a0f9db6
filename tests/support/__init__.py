"""Real servers, clusters and child programs that several tests use, and where they lie."""

from pathlib import Path

SUPPORT = Path(__file__).parent
ROOT = SUPPORT.parents[1]
# Inputs from other projects, beside the checkout; tests that read them are skipped where they are not there.
SHARED = ROOT.parent / "shared"
