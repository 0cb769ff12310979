/** The screen "Run": outcome and money, what a person can do, and its tabs. */

import { isFinished } from '../../../client/run-view.ts';
import type { RunView } from '../../model/life-line.ts';
import { Choice } from '../../parts/choice.tsx';
import { Table } from '../../parts/table.tsx';
import { Command, ProblemText, Time } from '../../parts/text.tsx';
import { address, hrefOf } from '../../state/address.ts';
import { useReading } from '../../state/readings.ts';
import { DecisionTable } from './decision.tsx';
import { RunOverview } from './facts.tsx';
import { Log } from './log.tsx';
import { OneAxis } from './one-axis.tsx';
import { Steering } from './steering.tsx';
import { WhatIfForm } from './what-if.tsx';

/** An event is seen within two seconds of its time. */
const POLL_SECONDS = 1.25;

const TABS = [
  ['', 'Life line'],
  ['log', 'Log'],
  ['why', 'Why here'],
  ['declaration', 'Declaration'],
] as const;

interface RunScreenProps {
  readonly runId: string;
  /** Of the address; empty for the life line. */
  readonly tab: string;
}

export function RunScreen({ runId, tab }: RunScreenProps) {
  const run = useReading(
    'getRun',
    { runId },
    (view) => (isFinished(view.run) ? undefined : POLL_SECONDS),
    (view) => `${view.run.status} ${view.timelineCount}`,
  );
  if (run.body === undefined) return run.refusal === undefined ? <p>Reading the API…</p> : null;
  const view = run.body;
  const isEnded = isFinished(view.run);
  const { pipeline, failure } = view.run;
  return (
    <>
      <h1>{runId}</h1>
      {failure !== undefined && <ProblemText>{failure}</ProblemText>}
      <RunOverview view={view} />
      <Steering view={view} onChange={run.again} />
      <nav class="tabs" aria-label="of this run">
        {TABS.map(([path, text]) => (
          <a
            key={path}
            href={hrefOf(['runs', runId, ...(path === '' ? [] : [path])])}
            aria-current={path === tab ? 'page' : undefined}
          >
            {text}
          </a>
        ))}
        <a href={hrefOf(['pipelines', pipeline, 'data'])}>Data</a>
        <a href={hrefOf(['compare'], { runs: runId })}>Compare</a>
      </nav>
      {tab === 'log' && <Log runId={runId} since={view.run.createdAt} />}
      {tab === 'why' && <Why runId={runId} isEnded={isEnded} />}
      {tab === 'declaration' && <Declaration declaration={view.run.declaration} pipeline={pipeline} />}
      {tab === '' && (
        <>
          <OneAxis view={view} runId={runId} isEnded={isEnded} />
          <h2>Timeline</h2>
          <Timeline view={view} />
          <Command text={`npx tidewheel watch ${runId}`} />
          <Command text={`npx tidewheel doctor ${runId}`} />
          <Command text={`npx tidewheel logs ${runId}`} />
        </>
      )}
    </>
  );
}

function Timeline({ view: { run, timeline } }: { readonly view: RunView }) {
  if (timeline.length === 0) return <p class="quiet">Nothing has happened yet.</p>;
  return (
    <Table
      caption="timeline"
      columns={['time', 'what happened']}
      rows={timeline.map(({ at, text }) => [<Time at={at} since={run.createdAt} />, text])}
    />
  );
}

interface DeclarationProps {
  readonly declaration: object | undefined;
  readonly pipeline: string;
}

/** The tab "Declaration": what the run was declared to be, as it was pinned at the close of its batch. */
const Declaration = ({ declaration, pipeline }: DeclarationProps) => (
  <>
    {declaration === undefined ? (
      <p>Its batch is not closed yet: until then it follows the declaration of {pipeline}.</p>
    ) : (
      <pre class="scroll" tabIndex={0} role="region" aria-label="declaration">
        {JSON.stringify(declaration, undefined, 2)}
      </pre>
    )}
    <Command text="npx tidewheel check" />
  </>
);

const PLACEMENTS_POLL_SECONDS = 15;

/** The tab "Why here": what each placement considered, and what it would have chosen otherwise. */
function Why({ runId, isEnded }: { readonly runId: string; readonly isEnded: boolean }) {
  const { body } = useReading('listPlacements', { runId }, () =>
    isEnded ? undefined : PLACEMENTS_POLL_SECONDS,
  );
  if (body === undefined) return <p>Reading the API…</p>;
  const { placements } = body;
  const last = placements.at(-1);
  if (last === undefined) return <p>Nothing was decided yet: a run is placed when its data is packed.</p>;
  const chosen = Number(address.value.query.get('attempt') ?? last.attempt);
  return (
    <>
      <div class="tools" role="group" aria-label="attempt">
        <Choice
          word="attempt"
          values={placements.map(({ attempt }) => attempt)}
          chosen={chosen}
          text={(attempt) => `attempt ${attempt}`}
        />
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
      <WhatIfForm runId={runId} attempt={attempt} />
    </>
  );
}
