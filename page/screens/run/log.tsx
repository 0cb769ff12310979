/** The tab "Log": all hosts and attempts as one stream, with marks where an attempt began and where it ended. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { clockText, timeText } from '../../model/format.ts';
import { Empty, Read, Section } from '../../parts/card.tsx';
import { ChoiceButtons, Find } from '../../parts/controls.tsx';
import { VirtualTable, wide } from '../../parts/table.tsx';
import { address } from '../../state/address.ts';
import type { AnswerOf } from '../../state/api.ts';
import { useReading } from '../../state/readings.ts';

export function Log({ runId }: { readonly runId: string }) {
  const { entries, leftOut } = useLog(runId);
  const all = entries ?? [];
  const { query } = address.value;
  const wanted = query.get('find') ?? '';
  const found = wanted === '' ? all : all.filter(({ text }) => text.includes(wanted));
  const order = ORDERS.find((each) => each === query.get('order')) ?? 'newest';
  const row = (place: number) => {
    const entry = order === 'newest' ? found[found.length - 1 - place] : found[place];
    if (entry === undefined) return [];
    const { kind, at, attempt } = entry;
    const text = withoutControl(entry.text);
    return [
      <time dateTime={at} title={timeText(at)}>
        {clockText(at, '2-digit')}
      </time>,
      attempt,
      kind === 'line' && entry.host,
      kind === 'line' ? <code title={text}>{text}</code> : <strong>{text}</strong>,
    ];
  };
  const table = { caption: `log of ${runId}`, columns: COLUMNS, count: found.length, row };
  const tools = (
    <>
      <ChoiceButtons word="order" values={ORDERS} chosen={order} text={(each) => `${each} first`} />
      <Find wanted={wanted} placeholder="find in the lines" />
    </>
  );
  const left = leftOut > 0 ? `; the ${leftOut} before them are not held here` : '';
  return (
    <Section title="Log" note={`${found.length} of ${all.length} lines${left}`} tools={tools}>
      <Read of={{ body: entries, refusal: undefined }}>
        {({ length }) =>
          length === 0 ? (
            <Empty>No attempt has begun yet: the log begins with the first one.</Empty>
          ) : (
            <VirtualTable kind="log" {...table} />
          )
        }
      </Read>
    </Section>
  );
}

const COLUMNS = ['time', ...wide('attempt', 'host'), 'line'];
const ORDERS = ['newest', 'oldest'] as const;

/** Colours and cursor movements of a terminal, and characters that turn the direction of writing. */
const withoutControl = (text: string): string =>
  text.replace(/\p{Cc}\[[\d;?]*[A-Za-z]/gu, '').replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, ' ');

/** No entries before the first page is read. */
type RunLog = Readonly<{ entries?: AnswerOf<'getLog'>['entries']; leftOut: number }>;

const FOLLOW_SECONDS = 3;
const PAGE = 1_000;
/** What a browser holds without strain. */
const MOST = 100_000;

/**
 * The log of a run, page after page, and followed while the run is open. Its entries are in the order of the run; the oldest
 * are left out beyond `MOST`.
 */
function useLog(runId: string) {
  const held = useSignal<RunLog>({ leftOut: 0 });
  const token = useSignal<string | undefined>(undefined);
  const { body } = useReading('getLog', { runId, limit: PAGE, nextToken: token.value }, (page) =>
    page.isCurrent && page.nextToken !== undefined ? FOLLOW_SECONDS : undefined,
  );
  useEffect(() => {
    if (body === undefined) return;
    const all = [...(held.value.entries ?? []), ...body.entries];
    const more = Math.max(0, all.length - MOST);
    held.value = { entries: all.slice(more), leftOut: held.value.leftOut + more };
    // A page that is empty and current is read again by the same token.
    if (body.nextToken !== undefined && (body.entries.length > 0 || !body.isCurrent))
      token.value = body.nextToken;
  }, [body]);
  return held.value;
}
