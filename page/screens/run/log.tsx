/** The tab "Log": all hosts and attempts as one stream, with marks where an attempt began and where it ended. */

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Find } from '../../parts/field.tsx';
import { Command, Time } from '../../parts/text.tsx';
import { VirtualTable } from '../../parts/virtual-table.tsx';
import { address } from '../../state/address.ts';
import type { AnswerOf } from '../../state/api.ts';
import { useReading } from '../../state/readings.ts';

export function Log({ runId, since }: { readonly runId: string; readonly since: string }) {
  const { entries, leftOut, isKnown } = useLog(runId);
  const wanted = address.value.query.get('find') ?? '';
  const shown = wanted === '' ? entries : entries.filter(({ text }) => text.includes(wanted));
  const row = (place: number) => {
    const entry = shown[place];
    if (entry === undefined) return [];
    const text = withoutControl(entry.text);
    const words = entry.kind === 'line' ? <code title={text}>{text}</code> : <strong>{text}</strong>;
    return [
      <Time at={entry.at} since={since} />,
      entry.attempt,
      entry.kind === 'line' ? entry.host : '',
      words,
    ];
  };
  return (
    <>
      <p class="tools">
        <Find wanted={wanted} />
        <span class="quiet">
          {`${shown.length} of ${entries.length} lines${leftOut > 0 ? `; the ${leftOut} before them are not held here` : ''}`}
        </span>
      </p>
      {isKnown && entries.length === 0 && (
        <p class="quiet">No attempt has begun yet: the log begins with the first one.</p>
      )}
      <VirtualTable
        caption={`log of ${runId}`}
        columns={['time', 'attempt', 'host', 'line']}
        count={shown.length}
        row={row}
        kind="log"
      />
      <Command text={`npx tidewheel logs ${runId} --follow`} />
    </>
  );
}

/** Colours and cursor movements of a terminal, and characters that turn the direction of writing. */
const withoutControl = (text: string): string =>
  text.replace(/\p{Cc}\[[\d;?]*[A-Za-z]/gu, '').replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, ' ');

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

/** The log of a run, page after page, and followed while the run is open. */
function useLog(runId: string): RunLog {
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
