/** The tab "Why here": what each placement considered, and what it would have chosen otherwise. */
import { Command } from '../../parts/text.tsx';
import { address, setQuery } from '../../state/address.ts';
import { useReading } from '../../state/readings.ts';
import { DecisionTable } from './decision.tsx';
import { WhatIf } from './what-if.tsx';

const POLL_SECONDS = 15;

export function Why({ runId, isEnded }: { readonly runId: string; readonly isEnded: boolean }) {
  const { body } = useReading('listPlacements', { runId }, () => (isEnded ? undefined : POLL_SECONDS));
  if (body === undefined) return <p>Reading the API…</p>;
  const { placements } = body;
  const last = placements.at(-1);
  if (last === undefined) return <p>Nothing was decided yet: a run is placed when its data is packed.</p>;
  const chosen = Number(address.value.query.get('attempt') ?? last.attempt);
  return (
    <>
      <div class="tools" role="group" aria-label="attempt">
        {placements.map(({ attempt }) => (
          <button
            key={attempt}
            type="button"
            class="small"
            aria-pressed={attempt === chosen}
            onClick={() => setQuery({ attempt: String(attempt) })}
          >
            {`attempt ${attempt}`}
          </button>
        ))}
      </div>
      <One key={chosen} runId={runId} attempt={chosen} />
      <Command text={`npx tidewheel why ${runId} --attempt ${chosen}`} />
    </>
  );
}

interface OneProps {
  readonly runId: string;
  readonly attempt: number;
}

function One({ runId, attempt }: OneProps) {
  const { body } = useReading('getPlacement', { runId, attempt: String(attempt) }, () => undefined);
  if (body === undefined) return <p>Reading the API…</p>;
  return (
    <>
      <DecisionTable decision={body.decision} />
      <WhatIf runId={runId} attempt={attempt} />
    </>
  );
}
