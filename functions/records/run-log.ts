/**
 * The log of a run: the lines of all its attempts and hosts in one order, with marks where an attempt began and where it
 * ended. A reader goes on from a token, so that the log is read by pages and followed alike.
 */
import { time } from '@tidewheel/kit/fields.ts';
import { nameOfPool } from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import { type AttemptRecord, FINISHED, type JobLog, type RunRecord } from './run-records.ts';

export interface LogLine {
  /** Unix milliseconds, by the host's clock. */
  readonly at: number;
  readonly host: string;
  readonly text: string;
}

export interface LogRange extends JobLog {
  /** Absent: the deployment's own. */
  readonly region?: string | undefined;
  /** Unix milliseconds, both inclusive. */
  readonly from: number;
  readonly to: number;
  readonly host?: string | undefined;
  readonly limit: number;
}

export interface LogReader {
  /** The first lines of the range, in order of time; none where nothing has been printed yet. */
  read(range: LogRange): Promise<readonly LogLine[]>;
}

/** Where a reader goes on: behind `seen` lines of that moment. */
export interface LogPosition {
  readonly attempt: number;
  readonly at: number;
  readonly seen: number;
}

const entry = { attempt: z.number().int(), at: time };
export const logEntrySchema = z.union([
  z.object({ kind: z.enum(['began', 'ended']), ...entry, text: z.string() }),
  z.object({
    kind: z.literal('line'),
    ...entry,
    host: z.string(),
    text: z.string().describe('As it was printed: it may hold control characters.'),
  }),
]);
export type LogEntry = z.output<typeof logEntrySchema>;

export interface LogPage {
  readonly entries: readonly LogEntry[];
  /** Absent at the end of an ended run. */
  readonly next?: LogPosition | undefined;
  /** There is nothing more at this moment: a follower waits, then goes on from `next`. */
  readonly isCurrent: boolean;
}

export interface LogQuestion {
  readonly run: Pick<RunRecord, 'status'>;
  /** Oldest first. */
  readonly attempts: readonly AttemptRecord[];
  readonly position?: LogPosition | undefined;
  /** Only this attempt. */
  readonly attempt?: number | undefined;
  readonly host?: string | undefined;
  /** Lines before this time are left out. */
  readonly since?: Date | undefined;
  readonly limit: number;
  readonly now: Date;
}

/**
 * Hosts send their lines a few seconds late and have clocks of their own. A younger line of an attempt that goes on waits,
 * so that no line comes in behind one that was read already.
 */
const LAG_MILLISECONDS = 5_000;
/** Lines that arrived after the end of their job was seen. */
const TAIL_MILLISECONDS = 3_600_000;
const LONGEST_LINE = 8_192;
/** Lambda's answer holds 6 MB, and JSON makes six characters of some. */
const LARGEST_PAGE = 700_000;

const position = z.tuple([z.int().min(1), z.number(), z.int().min(0)]);

export const tokenOfPosition = ({ attempt, at, seen }: LogPosition): string =>
  Buffer.from(JSON.stringify([attempt, at, seen])).toString('base64url');

/** @returns undefined for a text that no page gave out */
export function positionIn(token: string): LogPosition | undefined {
  try {
    const [attempt, at, seen] = position.parse(JSON.parse(Buffer.from(token, 'base64url').toString()));
    return { attempt, at, seen };
  } catch {
    return undefined;
  }
}

export async function readRunLog(reader: LogReader, question: LogQuestion): Promise<LogPage> {
  const wanted = question.attempts.filter(
    ({ attempt }) => question.attempt === undefined || attempt === question.attempt,
  );
  const from = question.position;
  const current = from === undefined ? wanted[0] : wanted.find(({ attempt }) => attempt === from.attempt);
  if (current === undefined) return noAttempt(question);
  const start = from ?? beginningOf(current, question.since);
  const began = start.at === BEFORE ? [beganMark(current)] : [];
  const lines = await linesOf(reader, current, start, question);
  const { kept, isFull } = upTo(lines, question.limit);
  const entries: LogEntry[] = [...began, ...kept.map((line) => entryOf(current, line))];
  const next = after(start, kept, current);
  if (isFull) return { entries, next, isCurrent: false };
  if (current.outcome === undefined || isFresh(current, question.now))
    return { entries, next, isCurrent: true };
  entries.push(endMark(current, current.outcome));
  const following = wanted.find(({ attempt }) => attempt > current.attempt);
  if (following !== undefined) return { entries, next: beginningOf(following, undefined), isCurrent: false };
  const isOver = question.attempt !== undefined || FINISHED.includes(question.run.status);
  // Between two attempts: the next one begins with its own mark.
  const upcoming = { attempt: current.attempt + 1, at: BEFORE, seen: 0 };
  return { entries, next: isOver ? undefined : upcoming, isCurrent: true };
}

/** Before the first attempt, or between two. */
function noAttempt({ run, attempt = 1, position: from, since }: LogQuestion): LogPage {
  const next = from ?? beginningOf({ attempt }, since);
  return { entries: [], next: FINISHED.includes(run.status) ? undefined : next, isCurrent: true };
}

/** Its last lines may be on their way. */
const isFresh = ({ outcome, updatedAt }: AttemptRecord, now: Date): boolean =>
  now.getTime() < Date.parse(outcome?.endedAt ?? updatedAt) + LAG_MILLISECONDS;

/** Of a position in front of an attempt's mark, and behind the mark in front of its first line. */
const BEFORE = 0;
const MARKED = 1;

const beginningOf = ({ attempt }: Pick<AttemptRecord, 'attempt'>, since: Date | undefined): LogPosition => ({
  attempt,
  at: since?.getTime() ?? BEFORE,
  seen: 0,
});

async function linesOf(
  reader: LogReader,
  { attempt: _attempt, jobName, log, createdAt, outcome, updatedAt, placement }: AttemptRecord,
  { at, seen }: LogPosition,
  { host, limit, now }: LogQuestion,
): Promise<readonly LogLine[]> {
  const to =
    outcome === undefined
      ? now.getTime() - LAG_MILLISECONDS
      : Date.parse(outcome.endedAt ?? updatedAt) + TAIL_MILLISECONDS;
  const from = at <= MARKED ? Date.parse(createdAt) - TAIL_MILLISECONDS : at;
  if (to < from) return [];
  const where = log ?? { group: TRAINING_JOBS, streamPrefix: `${jobName}/` };
  const { region } = placement.pool;
  // One more line says whether there is another page.
  const lines = await reader.read({ ...where, region, from, to, host, limit: limit + seen + 1 });
  return lines.slice(seen);
}

/** Of attempts that earlier releases recorded. */
const TRAINING_JOBS = '/aws/sagemaker/TrainingJobs';

function upTo(lines: readonly LogLine[], limit: number): { kept: readonly LogLine[]; isFull: boolean } {
  const kept: LogLine[] = [];
  let characters = 0;
  for (const line of lines) {
    characters += Math.min(line.text.length, LONGEST_LINE) + 100;
    if (kept.length >= limit || (kept.length > 0 && characters > LARGEST_PAGE)) return { kept, isFull: true };
    kept.push(line);
  }
  return { kept, isFull: false };
}

/** Several lines may be of one millisecond, so those that were read there are counted. */
function after(start: LogPosition, kept: readonly LogLine[], { attempt }: AttemptRecord): LogPosition {
  const last = kept.at(-1);
  if (last === undefined) return { ...start, at: Math.max(start.at, MARKED) };
  const equal = kept.filter(({ at }) => at === last.at).length;
  return { attempt, at: last.at, seen: last.at === start.at ? start.seen + equal : equal };
}

const entryOf = ({ attempt }: AttemptRecord, { at, host, text }: LogLine): LogEntry => ({
  kind: 'line',
  attempt,
  at: new Date(at).toISOString(),
  host,
  text: text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)} …` : text,
});

const beganMark = ({ attempt, createdAt, placement, progressBefore }: AttemptRecord): LogEntry => ({
  kind: 'began',
  attempt,
  at: createdAt,
  text: `attempt ${attempt} began on ${placement.topology.nodes} × ${nameOfPool(placement.pool)}${
    progressBefore === undefined ? '' : `, from ${progressBefore.unit ?? 'step'} ${progressBefore.step}`
  }`,
});

function endMark({ attempt, updatedAt, progressAfter }: AttemptRecord, outcome: Outcome): LogEntry {
  const saved =
    progressAfter === undefined ? '' : `, saved up to ${progressAfter.unit ?? 'step'} ${progressAfter.step}`;
  const [line = ''] = outcome.message.split('\n', 1);
  const how = outcome.kind === 'completed' ? 'completed' : `ended (${outcome.kind})${saved}: ${line}`;
  return { kind: 'ended', attempt, at: outcome.endedAt ?? updatedAt, text: `attempt ${attempt} ${how}` };
}

type Outcome = NonNullable<AttemptRecord['outcome']>;
