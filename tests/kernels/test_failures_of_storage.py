"""What a worker gives back as a value, and what it raises so that Spark runs its task again."""

import errno

import pyarrow as pa
import pytest

from lakebed.errors import EngineError
from lakebed.kernels.files import failed, is_passing
from lakebed.kernels.merge_tasks import MatchTasks, StagedSource
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import DataFile

PASSING = [
    OSError(errno.EIO, "Input/output error"),
    OSError(errno.ESTALE, "Stale file handle"),
    ConnectionResetError(),
    TimeoutError(),
    OSError("When reading object: AWS Error NETWORK_CONNECTION during GetObject operation: curlCode: 28, Timeout was"),
    OSError("AWS Error SLOW_DOWN during PutObject operation: Please reduce your request rate."),
    OSError("AWS Error UNKNOWN (HTTP status 503) during HeadObject operation: No response body."),
    OSError("AWS Error INTERNAL_FAILURE during UploadPart operation: We encountered an internal error."),
]
LASTING = [
    FileNotFoundError(errno.ENOENT, "gone"),
    FileNotFoundError("Path does not exist 'bucket/key'"),
    PermissionError(errno.EACCES, "denied"),
    OSError(errno.ENOSPC, "No space left on device"),
    OSError("AWS Error ACCESS_DENIED during GetObject operation: Access Denied"),
    OSError("Couldn't deserialize thrift: don't know what type"),
    pa.ArrowInvalid("Parquet magic bytes not found"),
]


@pytest.mark.parametrize("error", PASSING, ids=str)
def test_what_may_pass_is_raised(error: OSError) -> None:
    assert is_passing(error)
    with pytest.raises(type(error)) as raised:
        failed(error, "the merge")
    assert raised.value is error


@pytest.mark.parametrize("error", LASTING, ids=str)
def test_what_lasts_is_a_value(error: Exception) -> None:
    told = failed(error, "the merge")
    assert isinstance(told, EngineError)
    assert str(error) in told.message


def match_tasks(monkeypatch: pytest.MonkeyPatch, error: Exception) -> MatchTasks:
    def match(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("lakebed.kernels.merge_tasks.match", match)
    schema = pa.schema([("id", pa.int64())])
    source = StagedSource((), schema, ("id",), StorageSettings())
    return MatchTasks(source, schema, ((DataFile("a.parquet", 1, 1),),))


def test_a_task_raises_what_spark_shall_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConnectionResetError):
        match_tasks(monkeypatch, ConnectionResetError())(0)


def test_a_task_returns_what_no_second_try_mends(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(match_tasks(monkeypatch, FileNotFoundError("gone"))(0), EngineError)
