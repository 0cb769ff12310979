/** Lines of jobs in memory, by the prefix of their streams. */
import type { LogLine, LogReader } from '../../../functions/records/run-log.ts';

export function memoryLogs() {
  const lines = new Map<string, LogLine[]>();
  const reader: LogReader = {
    read: ({ streamPrefix, from, to, host, limit }) =>
      Promise.resolve(
        (lines.get(streamPrefix) ?? [])
          .filter((line) => line.at >= from && line.at <= to && (host === undefined || line.host === host))
          .toSorted((one, other) => one.at - other.at)
          .slice(0, limit),
      ),
  };
  return {
    ...reader,
    print: (streamPrefix: string, line: LogLine) => {
      lines.set(streamPrefix, [...(lines.get(streamPrefix) ?? []), line]);
    },
  };
}
