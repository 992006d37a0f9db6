"""How object stores are reached: one value, for the driver's storage and for the kernels that it travels to."""

import configparser
import os
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from urllib.parse import urlsplit

from lakebed.errors import ConfigError

_BUCKETS = ("s3", "gs", "az")


def _text(help_: str, *, secret: bool = False) -> str | None:
    value: str | None = field(default=None, repr=not secret, metadata={"help": help_})
    return value


def _flag(help_: str) -> bool:
    value: bool = field(default=False, metadata={"help": help_})
    return value


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """How object stores are reached. What is not set comes from AWS_*, GOOGLE_* and AZURE_* or the machine's role."""

    endpoint_url: str | None = _text("Address of an S3-compatible server, as in http://localhost:8333.")
    region: str | None = _text("AWS region of the buckets.")
    profile: str | None = _text("Profile of ~/.aws/config and ~/.aws/credentials to sign with.")
    access_key_id: str | None = _text("Access key. Better kept in AWS_ACCESS_KEY_ID.", secret=True)
    secret_access_key: str | None = _text("Secret key. Better kept in AWS_SECRET_ACCESS_KEY.", secret=True)
    session_token: str | None = _text("Token of temporary keys. Better kept in AWS_SESSION_TOKEN.", secret=True)
    anonymous: bool = _flag("Send unsigned requests, for public buckets.")
    role_arn: str | None = _text("Role to assume, as in arn:aws:iam::123456789012:role/billing.")
    role_session_name: str | None = _text("Name of the assumed role's session.")
    external_id: str | None = _text("External id that the role's trust policy asks for.")
    requester_pays: bool = _flag("Accept the cost of requests to requester-pays buckets.")

    def resolved(self) -> "StorageSettings":
        """These settings with the profile's keys filled in: a worker has no profile of the driver's user."""
        if not self.profile or self.access_key_id:
            return self
        found = _read_profile(self.profile)
        if not {"aws_access_key_id", "role_arn"} & found.keys():
            raise ConfigError(
                f"the AWS profile {self.profile!r} has neither keys nor a role_arn",
                remedy="Sign in so that it has keys (for example: aws configure export-credentials --format env), "
                "or put aws_access_key_id and aws_secret_access_key into it.",
            )
        return replace(
            self,
            access_key_id=found.get("aws_access_key_id"),
            secret_access_key=self.secret_access_key or found.get("aws_secret_access_key"),
            session_token=self.session_token or found.get("aws_session_token"),
            endpoint_url=self.endpoint_url or found.get("endpoint_url"),
            region=self.region or found.get("region"),
            role_arn=self.role_arn or found.get("role_arn"),
            role_session_name=self.role_session_name or found.get("role_session_name"),
            external_id=self.external_id or found.get("external_id"),
        )

    def for_uri(self, uri: str) -> "StorageSettings":
        """How this place is reached."""
        return self

    def with_key_ring(self) -> "KeyRing":
        """The same settings, to which keys for single places can be added."""
        return KeyRing(**{one.name: getattr(self, one.name) for one in fields(StorageSettings)})


@dataclass(frozen=True, slots=True)
class LentKeys:
    """Keys for one place and all below it, for as long as who lent them lets them live."""

    access_key_id: str = field(repr=False)
    secret_access_key: str | None = field(repr=False)
    session_token: str | None = field(default=None, repr=False)
    endpoint_url: str | None = None
    region: str | None = None


@dataclass(frozen=True, slots=True)
class KeyRing(StorageSettings):
    """Settings, and the keys that catalogs lent for the places of their tables: the newest of each place.

    Whoever holds the ring has what is added to it later; what travels to a worker is the ring as it was then.
    """

    lent: dict[str, LentKeys] = field(default_factory=dict, repr=False, compare=False)

    def add(self, place: str, keys: LentKeys) -> None:
        """From now on this place is reached with these keys."""
        self.lent[place.rstrip("/")] = keys

    def for_uri(self, uri: str) -> StorageSettings:
        own = StorageSettings(**{one.name: getattr(self, one.name) for one in fields(StorageSettings)})
        around = [place for place in self.lent if uri == place or uri.startswith(f"{place}/")]
        return own if not around else self._with(own, self.lent[max(around, key=len)])

    def with_key_ring(self) -> "KeyRing":
        return self

    def by_place(self) -> dict[str, StorageSettings]:
        """How each place is reached that keys were lent for."""
        return {place: self.for_uri(place) for place in self.lent}

    @staticmethod
    def _with(own: StorageSettings, keys: LentKeys) -> StorageSettings:
        return replace(
            own,
            profile=None,
            role_arn=None,
            role_session_name=None,
            external_id=None,
            anonymous=False,
            access_key_id=keys.access_key_id,
            secret_access_key=keys.secret_access_key,
            session_token=keys.session_token,
            endpoint_url=keys.endpoint_url or own.endpoint_url,
            region=keys.region or own.region,
        )


def _read_profile(name: str) -> dict[str, str]:
    home = Path.home() / ".aws"
    found: dict[str, str] = {}
    for path, section in (
        (Path(os.environ.get("AWS_CONFIG_FILE", home / "config")), name if name == "default" else f"profile {name}"),
        (Path(os.environ.get("AWS_SHARED_CREDENTIALS_FILE", home / "credentials")), name),
    ):
        parser = configparser.ConfigParser(interpolation=None)
        parser.read(path)
        if parser.has_section(section):
            found.update(parser[section])
    if not found:
        raise ConfigError(
            f"there is no AWS profile {name!r} in {home}/config or {home}/credentials",
            remedy="Check the name with: aws configure list-profiles",
        )
    return found


def require_no_credentials(uri: str) -> None:
    """Raises ConfigError for `s3://key:secret@bucket`: addresses are shown, logged and kept in the ledger."""
    parts = urlsplit(uri)
    # A secret may hold slashes, so that the bucket seems to end inside it.
    if parts.scheme in _BUCKETS and ("@" in parts.netloc or ":" in parts.netloc):
        raise ConfigError(
            f"the address {parts.scheme}://***{uri.rpartition('@')[2] if '@' in uri else ''} has credentials in it",
            remedy="Use AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or [storage] in lakebed.toml.",
        )
