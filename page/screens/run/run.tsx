/** The screen "Run": in one look how good, how far, when done and what it costs; then advice, life line, curves and events. */
import { isFinished } from '../../../client/run-view.ts';
import { LifeLineCard } from '../../charts/life-line.tsx';
import { leadingName } from '../../model/leading.ts';
import { lifeLineOf } from '../../model/life-line.ts';
import { verdictMarks } from '../../model/utilisation-rows.ts';
import { Empty, Read, Section, Skeleton } from '../../parts/card.tsx';
import { Choice } from '../../parts/controls.tsx';
import { Command, Pill } from '../../parts/text.tsx';
import { address, hrefOf } from '../../state/address.ts';
import type { AnswerOf } from '../../state/api.ts';
import { useClock } from '../../state/clock.ts';
import { useReading } from '../../state/readings.ts';
import { Curves, shownAxis } from './curves.tsx';
import { DecisionTable } from './decision.tsx';
import { Events } from './events.tsx';
import { Log } from './log.tsx';
import { Advice, Details, Failure, Model, Vitals } from './overview.tsx';
import { Steering } from './steering.tsx';
import { WhatIfForm } from './what-if.tsx';

/** An event is seen within two seconds of its time. */
const POLL_SECONDS = 1.25;
const SERIES_POLL_SECONDS = 5;
/** A point stands for ten seconds or more. */
const UTILISATION_POLL_SECONDS = 20;
const PLACEMENTS_POLL_SECONDS = 15;
const POINTS = 500;

const TABS = [
  ['', 'Overview'],
  ['log', 'Log'],
  ['why', 'Why here'],
  ['declaration', 'Declaration'],
] as const;

type View = AnswerOf<'getRun'>;

interface RunScreenProps {
  readonly runId: string;
  /** Of the address; empty for the overview. */
  readonly tab: string;
}

export function RunScreen({ runId, tab }: RunScreenProps) {
  const run = useReading(
    'getRun',
    { runId },
    (view) => (isFinished(view.run) ? undefined : POLL_SECONDS),
    (view) => `${view.run.status} ${view.timelineCount}`,
  );
  const [, pipeline = runId, number = ''] = /^(.*?)-((?:probe-)?\d+)$/.exec(runId) ?? [];
  return (
    <>
      <nav class="quiet" aria-label="where">
        <a href={hrefOf(['pipelines', pipeline])}>{pipeline}</a>
        {` / run ${number.replace(/^0+(?=\d)/, '')}`}
      </nav>
      <div class="head">
        <h1>{runId}</h1>
        {run.body !== undefined && (
          <>
            <Pill status={run.body.run.status} />
            <span class="tools">
              <Steering view={run.body} onChange={run.again} />
            </span>
          </>
        )}
      </div>
      <Read of={run} rows={8}>
        {(view) => <Tabs view={view} tab={tab} onChange={run.again} />}
      </Read>
    </>
  );
}

interface TabsProps {
  readonly view: View;
  readonly tab: string;
  readonly onChange: () => void;
}

function Tabs({ view, tab, onChange }: TabsProps) {
  const { runId, pipeline, declaration } = view.run;
  const tabs = (
    <nav class="tabs" aria-label="of this run">
      {TABS.map(([path, text]) => (
        <a
          key={path}
          href={hrefOf(['runs', runId, path].filter(Boolean))}
          aria-current={path === tab ? 'page' : undefined}
        >
          {text}
        </a>
      ))}
      <a href={hrefOf(['pipelines', pipeline, 'data'])}>Data</a>
      <a href={hrefOf(['compare'], { runs: runId })}>Compare</a>
    </nav>
  );
  if (tab === '') return <Overview view={view} tabs={tabs} onChange={onChange} />;
  return (
    <>
      {tabs}
      {tab === 'log' && <Log runId={runId} />}
      {tab === 'why' && <Why runId={runId} isEnded={isFinished(view.run)} />}
      {tab === 'declaration' && <Declaration declaration={declaration} pipeline={pipeline} />}
    </>
  );
}

interface OverviewProps extends Omit<TabsProps, 'tab'> {
  readonly tabs: preact.ComponentChildren;
}

function Overview({ view, tabs, onChange }: OverviewProps) {
  const { run } = view;
  const { runId } = run;
  const isEnded = isFinished(run);
  const now = useClock(!isEnded);
  const busy = useReading('getUtilisation', { runId }, () =>
    isEnded ? undefined : UTILISATION_POLL_SECONDS,
  );
  const curves = useReading('getSeries', { runId, points: POINTS }, () =>
    isEnded ? undefined : SERIES_POLL_SECONDS,
  );
  const series = curves.body?.series;
  const { x, range } = shownAxis();
  const onLine = x === 'time' && range ? { from: range.from * 1000, to: range.to * 1000 } : undefined;
  const verdicts = busy.body?.verdicts ?? [];
  return (
    <>
      <Failure view={view} onChange={onChange} />
      <Vitals view={view} series={series} now={now} />
      <Model view={view} />
      <Advice verdicts={verdicts} runId={runId} isEnded={isEnded} />
      <LifeLineCard
        line={lifeLineOf(view, now, verdictMarks(verdicts))}
        range={onLine}
        now={isEnded ? undefined : now}
      />
      {tabs}
      <Read of={curves} rows={6}>
        {({ series: all }) => (
          <Curves view={view} series={all} leading={leadingName(view, all)} busy={busy.body} />
        )}
      </Read>
      <Events view={view} />
      <Details view={view} onChange={onChange} />
      <div class="tools">
        {['watch', 'logs', 'doctor'].map((verb) => (
          <Command key={verb} text={`npx tidewheel ${verb} ${runId}`} />
        ))}
      </div>
    </>
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
      <Empty>Its batch is not closed yet: until then it follows the declaration of {pipeline}.</Empty>
    ) : (
      <pre tabIndex={0} role="region" aria-label="declaration">
        {JSON.stringify(declaration, undefined, 2)}
      </pre>
    )}
    <Command text="npx tidewheel check" />
  </>
);

/** The tab "Why here": what each placement considered, and what it would have chosen otherwise. */
function Why({ runId, isEnded }: { readonly runId: string; readonly isEnded: boolean }) {
  const list = useReading('listPlacements', { runId }, () => (isEnded ? undefined : PLACEMENTS_POLL_SECONDS));
  return (
    <Read of={list}>
      {({ placements }) => {
        const last = placements.at(-1);
        if (last === undefined)
          return <Empty>Nothing was decided yet: a run is placed when its data is packed.</Empty>;
        const chosen = Number(address.value.query.get('attempt') ?? last.attempt);
        return (
          <Section
            title="Placement"
            tools={
              <Choice
                word="attempt"
                values={placements.map(({ attempt }) => attempt)}
                chosen={chosen}
                text={(attempt) => `attempt ${attempt}`}
              />
            }
          >
            <One key={chosen} runId={runId} attempt={chosen} />
            <Command text={`npx tidewheel why ${runId} --attempt ${chosen}`} />
          </Section>
        );
      }}
    </Read>
  );
}

function One({ runId, attempt }: { readonly runId: string; readonly attempt: number }) {
  const { body } = useReading('getPlacement', { runId, attempt: String(attempt) }, () => undefined);
  if (body === undefined) return <Skeleton />;
  return (
    <>
      <DecisionTable decision={body.decision} />
      <WhatIfForm runId={runId} attempt={attempt} />
    </>
  );
}
