/** "What happened": a row an event, newest first; equal ones fold, and so do tracebacks. */
import { causeOf } from '../../model/format.ts';
import { Empty, EventRow, Section } from '../../parts/card.tsx';
import { hrefOf } from '../../state/address.ts';
import type { AnswerOf } from '../../state/api.ts';

type View = AnswerOf<'getRun'>;
type Entry = View['timeline'][number];

/** By the words of a kind: colour, and the tab that proves it. */
const KINDS: readonly (readonly [RegExp, state: string, tab: string | undefined])[] = [
  [/fail|stalled|hangs/i, 'failed', 'log'],
  [/interrupt|rebalance|replaced|recall|newer|incomplete|nothing|delayed/i, 'warn', 'log'],
  [/doctor|disk/i, 'warn', undefined],
  [/started|placed|waitingForCapacity/i, 'spot', 'why'],
  [/finished|succeeded|completed/i, 'succeeded', undefined],
  [/sealed|settled|quality|packed/i, 'settling', 'data'],
  [/requested|changed/i, 'training', undefined],
];

/** Such as "Rebalance recommended" for RebalanceRecommended, or too-few-workers. */
export function wordsOf(kind: string): string {
  const words = kind
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('-', ' ')
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Consecutive entries that say the same are one. */
function folded(timeline: readonly Entry[]): { readonly entry: Entry; readonly times: number }[] {
  const rows: { entry: Entry; times: number }[] = [];
  for (const entry of timeline.toReversed()) {
    const before = rows.at(-1);
    if (before?.entry.kind === entry.kind && before.entry.text === entry.text) before.times += 1;
    else rows.push({ entry, times: 1 });
  }
  return rows;
}

export function Events({ view: { run, timeline, timelineCount } }: { readonly view: View }) {
  const more = timelineCount - timeline.length;
  const note = more > 0 ? `the newest ${timeline.length}; ${more} before them` : 'newest first';
  return (
    <Section title="What happened" note={timeline.length === 0 ? undefined : note}>
      {timeline.length === 0 ? (
        <Empty>Nothing has happened yet.</Empty>
      ) : (
        <ul class="card events" aria-label="timeline">
          {folded(timeline).map(({ entry, times }) => (
            <Event key={entry.id} entry={entry} times={times} run={run} />
          ))}
        </ul>
      )}
    </Section>
  );
}

interface EventProps {
  readonly entry: Entry;
  readonly times: number;
  readonly run: View['run'];
}

function Event({ entry: { at, kind, text }, times, run: { runId, pipeline } }: EventProps) {
  const [, state, tab] = KINDS.find(([pattern]) => pattern.test(kind)) ?? [];
  const { cause, more } = causeOf(text);
  const count = times > 1 ? ` × ${times}` : '';
  const href = tab === 'data' ? hrefOf(['pipelines', pipeline, 'data']) : hrefOf(['runs', runId, tab ?? '']);
  return (
    <EventRow at={at} state={state} bold={`${wordsOf(kind)}${count}`} text={cause} more={more}>
      {tab !== undefined && (
        <a class="quiet" href={href}>
          {tab === 'why' ? 'why here' : tab}
        </a>
      )}
    </EventRow>
  );
}
