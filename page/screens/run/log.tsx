/** The tab "Log": all hosts and attempts as one stream, with marks where an attempt began and where it ended. */

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { clockText, timeText } from '../../model/format.ts';
import { Empty, Section, Skeleton } from '../../parts/card.tsx';
import { ChoiceButtons, Find } from '../../parts/controls.tsx';
import { VirtualTable, wide } from '../../parts/table.tsx';
import { Command } from '../../parts/text.tsx';
import { address } from '../../state/address.ts';
import type { AnswerOf } from '../../state/api.ts';
import { useReading } from '../../state/readings.ts';

export function Log({ runId }: { readonly runId: string }) {
  const { entries, leftOut, isKnown } = useLog(runId);
  const wanted = address.value.query.get('find') ?? '';
  const found = wanted === '' ? entries : entries.filter(({ text }) => text.includes(wanted));
  const isNewest = address.value.query.get('order') !== 'oldest';
  const row = (place: number) => {
    const entry = isNewest ? found[found.length - 1 - place] : found[place];
    if (entry === undefined) return [];
    const text = withoutControl(entry.text);
    const words = entry.kind === 'line' ? <code title={text}>{text}</code> : <strong>{text}</strong>;
    return [
      <time dateTime={entry.at} title={timeText(entry.at)}>
        {clockText(entry.at, '2-digit')}
      </time>,
      entry.attempt,
      entry.kind === 'line' ? entry.host : '',
      words,
    ];
  };
  return (
    <Section
      title="Log"
      note={`${found.length} of ${entries.length} lines${leftOut > 0 ? `; the ${leftOut} before them are not held here` : ''}`}
      tools={
        <>
          <ChoiceButtons
            word="order"
            values={['newest', 'oldest']}
            chosen={isNewest ? 'newest' : 'oldest'}
            text={(each) => `${each} first`}
          />
          <Find wanted={wanted} placeholder="find in the lines" />
        </>
      }
    >
      {!isKnown ? (
        <Skeleton rows={12} />
      ) : entries.length === 0 ? (
        <Empty>No attempt has begun yet: the log begins with the first one.</Empty>
      ) : (
        <VirtualTable
          caption={`log of ${runId}`}
          columns={['time', ...wide('attempt', 'host'), 'line']}
          count={found.length}
          row={row}
          kind="log"
        />
      )}
      <Command text={`npx tidewheel logs ${runId} --follow`} />
    </Section>
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
