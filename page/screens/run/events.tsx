/** "What happened": a row an event, newest first; equal ones fold, and so do tracebacks. */
import { causeOf, wordsOf } from '../../model/format.ts';
import { Empty, EventRow, Section } from '../../parts/card.tsx';
import { hrefOf } from '../../state/address.ts';
import type { AnswerOf } from '../../state/api.ts';

/** By the words of a kind: colour, and the tab that proves it. */
const KINDS: readonly (readonly [RegExp, state: string, tab?: string])[] = [
  [/fail|stalled|hangs/i, 'failed', 'log'],
  [/interrupt|rebalance|replaced|recall|newer|incomplete|nothing|delayed/i, 'warn', 'log'],
  [/doctor|disk/i, 'warn'],
  [/started|placed|waitingForCapacity/i, 'spot', 'why'],
  [/finished|succeeded|completed/i, 'succeeded'],
  [/sealed|settled|quality|packed/i, 'settling', 'data'],
  [/requested|changed/i, 'training'],
];

type EventsProps = Readonly<{ view: AnswerOf<'getRun'> }>;

export function Events({ view: { run, timeline, timelineCount } }: EventsProps) {
  if (timeline.length === 0) return <Empty>Nothing has happened yet.</Empty>;
  const before = timelineCount - timeline.length;
  // Consecutive entries that say the same are one.
  const rows = timeline
    .toReversed()
    .filter(({ kind, text }, place, all) => all[place - 1]?.kind !== kind || all[place - 1]?.text !== text);
  return (
    <Section title="What happened" note={before > 0 ? `${before} older ones are not shown` : 'newest first'}>
      <ul class="card events" aria-label="timeline">
        {rows.map(({ id, at, kind, text }) => {
          const [, state, tab] = KINDS.find(([pattern]) => pattern.test(kind)) ?? [];
          const { cause, more } = causeOf(text);
          const path = tab === 'data' ? ['pipelines', run.pipeline, tab] : ['runs', run.runId, tab ?? ''];
          return (
            <EventRow key={id} at={at} state={state} bold={wordsOf(kind)} text={cause} more={more}>
              {tab && (
                <a class="quiet" href={hrefOf(path)}>
                  {tab === 'why' ? 'why here' : tab}
                </a>
              )}
            </EventRow>
          );
        })}
      </ul>
    </Section>
  );
}
