/** A run's log: the lines of all its attempts and hosts in one order, with marks where one attempt ended and the next began. */

export interface LogEvent {
  readonly timestamp: number;
  readonly message: string;
  /** The stream's part behind the job's name: the host. */
  readonly host: string;
}

/** What the log needs of an attempt's record. */
export interface LoggedAttempt {
  readonly attempt: number;
  readonly jobName: string;
  readonly createdAt: string;
  readonly placement: {
    readonly pool: { readonly instanceType: string; readonly zoneId?: string | undefined };
  };
  readonly outcome?:
    | { readonly kind: string; readonly message: string; readonly endedAt?: string | undefined }
    | undefined;
}

/** The line above an attempt's own. */
export function beginning({ attempt, jobName, createdAt, placement: { pool } }: LoggedAttempt): string {
  const where = pool.zoneId === undefined ? pool.instanceType : `${pool.instanceType} in ${pool.zoneId}`;
  return `── attempt ${attempt}: ${jobName}, ${where}, ${createdAt} ──`;
}

/** The line below an attempt's own; undefined while it runs. */
export function ending({ attempt, outcome }: LoggedAttempt): string | undefined {
  if (outcome === undefined) return undefined;
  const how =
    outcome.kind === 'completed' ? 'completed' : `ended (${outcome.kind}): ${firstLine(outcome.message)}`;
  return `── attempt ${attempt} ${how} ──`;
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? '';

/** In the order in which the hosts printed them; lines of one moment stay in the order of their streams. */
export const inOrder = (events: readonly LogEvent[]): LogEvent[] =>
  events.toSorted((one, other) => one.timestamp - other.timestamp);

/** With the host's name where there are several. What a script printed may hold control characters, which a terminal obeys. */
export function lineOf({ timestamp, message, host }: LogEvent, hosts: number): string {
  const time = new Date(timestamp).toISOString().slice(11, 19);
  const text = Array.from(message.trimEnd(), (each) => (isControl(each) ? ' ' : each)).join('');
  return hosts > 1 ? `${time} ${host} ${text}` : `${time} ${text}`;
}

function isControl(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return (code < 32 && code !== 9) || (code > 126 && code < 160);
}

/** Milliseconds of "90s", "15m", "2h" or "1d"; undefined for anything else. */
export function durationOf(text: string): number | undefined {
  const match = /^(\d{1,6})([smhd])$/.exec(text);
  const unit = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }[match?.[2] ?? ''];
  return match === null || unit === undefined ? undefined : Number(match[1]) * unit;
}
