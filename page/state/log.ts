/** The log of a run, page after page, and followed while the run is open. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { AnswerOf } from './api.ts';
import { useReading } from './readings.ts';

type LogEntry = AnswerOf<'getLog'>['entries'][number];

interface RunLog {
  /** In the order of the run; the oldest are left out beyond `MOST`. */
  readonly entries: readonly LogEntry[];
  readonly leftOut: number;
  readonly isKnown: boolean;
}

const FOLLOW_SECONDS = 3;
const PAGE = 1_000;
/** What a browser holds without strain. */
const MOST = 100_000;

export function useLog(runId: string): RunLog {
  const held = useSignal<Omit<RunLog, 'isKnown'>>({ entries: [], leftOut: 0 });
  const isKnown = useSignal(false);
  const token = useSignal<string | undefined>(undefined);
  const { body } = useReading('getLog', { runId, limit: PAGE, nextToken: token.value }, (page) =>
    page.isCurrent && page.nextToken !== undefined ? FOLLOW_SECONDS : undefined,
  );
  useEffect(() => {
    if (body === undefined) return;
    isKnown.value = true;
    if (body.entries.length > 0) {
      const all = [...held.value.entries, ...body.entries];
      const more = Math.max(0, all.length - MOST);
      held.value = { entries: all.slice(more), leftOut: held.value.leftOut + more };
    }
    // A page that is empty and current is read again by the same token.
    if (body.nextToken !== undefined && (body.entries.length > 0 || !body.isCurrent))
      token.value = body.nextToken;
  }, [body]);
  return { ...held.value, isKnown: isKnown.value };
}
