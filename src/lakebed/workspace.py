"""What every step of a run shares: settings, storage and the ledger of one work directory."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lakebed.config import Settings, load_settings
from lakebed.storage import Storage
from lakebed.targets.address import Address, open_target
from lakebed.targets.base import Target

if TYPE_CHECKING:
    from lakebed.state.ledger import Ledger


@dataclass(frozen=True)
class Workspace:
    """A work directory and the settings that hold in it. Opening one touches nothing."""

    settings: Settings
    storage: Storage

    @classmethod
    def open(cls, flags: Mapping[str, object] | None = None, *, parameters: Iterable[str] = ()) -> "Workspace":
        """The work directory that these flags name; for `parameters` see `load_settings`."""
        settings = load_settings(flags, parameters=parameters)
        return cls(settings, Storage(settings.storage))

    def target(self, address: Address | str, *, staging: str | None = None, read_only: bool = False) -> Target:
        """The table at an address, which need not exist yet; see `open_target` for the rest."""
        return open_target(
            address,
            workdir=self.settings.workdir_path,
            storage=self.storage,
            catalogs=self.settings.catalog,
            staging=staging,
            read_only=read_only,
        )

    @property
    def is_new(self) -> bool:
        """There is no ledger yet. One on a server is known only to that server."""
        place = self.settings.ledger_place
        return isinstance(place, Path) and not place.exists()

    @contextmanager
    def ledger(self) -> Iterator["Ledger"]:
        """The ledger, made where there is none."""
        # The database's packages take longer to import than a command without a ledger takes altogether.
        from lakebed.state.ledger import Ledger

        with Ledger.open(self.settings.ledger_place) as ledger:
            yield ledger

    @contextmanager
    def ledger_for_reading(self) -> Iterator["Ledger"]:
        """The ledger for looking only: nothing is created or changed."""
        from lakebed.state.ledger import Ledger

        with Ledger.read(self.settings.ledger_place) as ledger:
            yield ledger
