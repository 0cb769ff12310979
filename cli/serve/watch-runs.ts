/** Follows the runs of every pipeline: three queries a look, however many runs there are, and a read for each that ended. */
import { setTimeout as sleep } from 'node:timers/promises';
import { runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import { noneIfUnreadable } from '@tidewheel/kit/errors.ts';
import type { PipelineRecord } from '../../functions/records/batches.ts';
import type { AttemptRecord, RunRecord } from '../../functions/records/run-records.ts';
import { readReport } from '../../functions/run/attempts/make-report.ts';
import { type NewsLine, newsWriter, type ServiceView } from './news.ts';
import type { Session } from './session.ts';

const LOOK_MILLISECONDS = 1_000;

type Watched = Pick<Session, 'stores' | 'store'>;

/**
 * Follows the runs until the session ends.
 * @returns once the first look is taken
 */
export async function watchRuns(
  session: Watched & Pick<Session, 'signal'>,
  onNews: (line: NewsLine) => void,
): Promise<{ readonly ended: Promise<void> }> {
  const look = runWatcher(session);
  await look();
  return { ended: lookUntilEnd(look, session.signal, onNews) };
}

async function lookUntilEnd(
  look: () => Promise<NewsLine[]>,
  signal: AbortSignal,
  onNews: (line: NewsLine) => void,
): Promise<void> {
  while (!signal.aborted) {
    // A look fails where the emulator is busy or ends: the next one finds the same.
    for (const line of await look().catch(() => [])) onNews(line);
    await sleep(LOOK_MILLISECONDS, undefined, { signal }).catch(() => undefined);
  }
}

/** @returns one look: the lines for the changes since the look before; the first look gives none */
export function runWatcher(service: Watched): () => Promise<NewsLine[]> {
  const news = newsWriter();
  let last: Open | undefined;
  return async () => {
    const open = await openNow(service);
    const lines = news.of(await lookSince(service, last, open));
    const isFirst = last === undefined;
    last = open;
    return isFirst ? [] : lines;
  };
}

interface Open {
  readonly pipelines: readonly PipelineRecord[];
  readonly runs: readonly RunRecord[];
  readonly attempts: readonly AttemptRecord[];
}

async function openNow({ stores }: Watched): Promise<Open> {
  const [pipelines, runs, attempts] = await Promise.all([
    stores.pipelines.list(),
    stores.runs.listOpen(),
    stores.attempts.listOpen(),
  ]);
  return { pipelines, runs, attempts };
}

async function lookSince(session: Watched, last: Open | undefined, open: Open): Promise<ServiceView> {
  const { stores } = session;
  const ended = await presentOf(endedRuns(last, open).map((runId) => stores.runs.get(runId)));
  const isOpen = new Set(open.attempts.map(keyOf));
  const endedAttempts = (last?.attempts ?? []).filter((attempt) => !isOpen.has(keyOf(attempt)));
  const read = await presentOf(
    endedAttempts.map(({ runId, attempt }) => stores.attempts.get(runId, attempt)),
  );
  // An attempt may begin and end between two looks, or before the first one.
  const wholly = last === undefined ? open.runs : ended;
  const all = await presentOf(wholly.map(({ runId }) => stores.attempts.list(runId)));
  // A run's record is closed after its report is written.
  const reports = await presentOf(ended.map((run) => readReport(session.store, run)));
  return {
    pipelines: open.pipelines,
    runs: [...open.runs, ...ended],
    attempts: [...open.attempts, ...read, ...all.flat()],
    reports: new Map(reports.map((report) => [report.runId, report])),
  };
}

/** Runs that were open at the last look, and those that came and went since: their batches were closed meanwhile. */
function endedRuns(last: Open | undefined, open: Open): string[] {
  if (last === undefined) return [];
  const isOpen = new Set(open.runs.map(({ runId }) => runId));
  const left = last.runs.map(({ runId }) => runId);
  const before = new Map(last.pipelines.map(({ name, openBatch }) => [name, openBatch]));
  const closed = open.pipelines.flatMap(({ name, openBatch }) => {
    const first = before.get(name) ?? Math.max(1, openBatch - 1);
    return Array.from({ length: Math.max(0, openBatch - first) }, (_, index) => runIdOf(name, first + index));
  });
  return [...new Set([...left, ...closed])].filter((runId) => !isOpen.has(runId));
}

const keyOf = ({ runId, attempt }: Pick<AttemptRecord, 'runId' | 'attempt'>): string => `${runId} ${attempt}`;

/** Records that cannot be read are named when the runs are taken up. */
async function presentOf<T>(reads: readonly Promise<T | undefined>[]): Promise<T[]> {
  return (await Promise.all(reads.map((read) => read.catch(noneIfUnreadable)))).flatMap((each) =>
    each === undefined ? [] : [each],
  );
}
