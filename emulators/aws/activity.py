"""Whether anything is at work in MiniStack: requests, and the threads that it starts for what it
does by itself. A thread is at work from the moment it is started, so nothing falls between."""

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator

# Threads that stay, and wait for work that another thread is counted for.
_STAYING = frozenset(
    {
        "_worker",  # of a thread pool
        "_poll_loop",  # of event source mappings: its passes are counted instead
        "_loop",
        "_ttl_reaper",
        "_read_stderr",
        "_keep",
        "_await_end_of_input",
    }
)


class Activity:
    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._working: dict[object, str] = {}
        self._counted: weakref.WeakSet[threading.Thread] = weakref.WeakSet()

    def count_threads(self) -> None:
        """From now on every thread that is started counts, but for those that stay."""
        start = threading.Thread.start

        def start_counted(thread: threading.Thread) -> None:
            target = getattr(thread, "_target", None)
            if getattr(target, "__name__", "") in _STAYING:
                start(thread)
                return
            run = thread.run

            def run_counted() -> None:
                try:
                    run()
                finally:
                    self.rest(thread)

            setattr(thread, "run", run_counted)  # noqa: B010
            self._counted.add(thread)
            self.work(thread)
            try:
                start(thread)
            except BaseException:
                self.rest(thread)
                raise

        setattr(threading.Thread, "start", start_counted)  # noqa: B010

    def counts(self, thread: threading.Thread) -> bool:
        return thread in self._counted

    def work(self, who: object, what: str = "") -> None:
        with self._changed:
            self._working[who] = what or str(who)

    def rest(self, who: object) -> None:
        with self._changed:
            self._working.pop(who, None)
            if not self._working:
                self._changed.notify_all()

    @contextlib.contextmanager
    def at_work(self, what: str) -> Iterator[None]:
        key = object()
        self.work(key, what)
        try:
            yield
        finally:
            self.rest(key)

    def wait_until_quiet(self, seconds: float, is_due: Callable[[], bool]) -> bool:
        """True once no thread works and nothing `is_due`; False after so many (real) seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._working and not is_due(), seconds)

    def who_works(self) -> list[str]:
        with self._changed:
            return list(self._working.values())
