/** The screen "Run": in one look how good, how far, when done and what it costs; then advice, life line, curves and events. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { isFinished } from '../../../client/run-view.ts';
import { LifeLineCard } from '../../charts/life-line.tsx';
import { leadingName } from '../../model/leading.ts';
import { lifeLineOf } from '../../model/life-line.ts';
import { verdictMarks } from '../../model/utilisation-rows.ts';
import { Empty, Read, Section } from '../../parts/card.tsx';
import { ChoiceButtons, DialogButton } from '../../parts/controls.tsx';
import { Command, Pill } from '../../parts/text.tsx';
import { address, hrefOf } from '../../state/address.ts';
import type { AnswerOf } from '../../state/api.ts';
import { useReading } from '../../state/readings.ts';
import { Curves, shownAxis } from './curves.tsx';
import { DecisionTable, WhatIfTable } from './decision.tsx';
import { Events } from './events.tsx';
import { Log } from './log.tsx';
import { Advice, Details, Failure, Model, Vitals } from './overview.tsx';
import { Steering } from './steering.tsx';

/** An event is seen within two seconds of its time. */
const POLL_SECONDS = 1.25;
const SERIES_POLL_SECONDS = 5;
const PLACEMENTS_POLL_SECONDS = 15;
/** A point stands for ten seconds or more. */
const UTILISATION_POLL_SECONDS = 20;
const POINTS = 500;

const TABS = ['Overview', 'Log', 'Why here', 'Declaration'] as const;
/** In the address; that of the overview is empty. */
const pathOf = (tab: string): string => tab.split(' ', 1)[0]?.toLowerCase().replace('overview', '') ?? '';

type View = AnswerOf<'getRun'>;

/** @param tab of the address */
export function RunScreen({ runId, tab }: Readonly<{ runId: string; tab: string }>) {
  const run = useReading(
    'getRun',
    { runId },
    (view) => (isFinished(view.run) ? undefined : POLL_SECONDS),
    (view) => `${view.run.status} ${view.timelineCount}`,
  );
  const [, pipeline = runId, number = ''] = /^(.*?)-((?:probe-)?\d+)$/.exec(runId) ?? [];
  const tabs = (
    <nav class="tabs" aria-label="of this run">
      {TABS.map((text) => (
        <a
          key={text}
          href={hrefOf(['runs', runId, pathOf(text)].filter(Boolean))}
          aria-current={pathOf(text) === tab ? 'page' : undefined}
        >
          {text}
        </a>
      ))}
      <a href={hrefOf(['pipelines', pipeline, 'data'])}>Data</a>
      <a href={hrefOf(['compare'], { runs: runId })}>Compare</a>
    </nav>
  );
  return (
    <>
      <nav class="quiet" aria-label="where">
        <a href={hrefOf(['pipelines', pipeline])}>{pipeline}</a>
        {` / run ${number.replace(/^0+(?=\d)/, '')}`}
      </nav>
      <div class="head">
        <h1>{runId}</h1>
        {run.body && <Pill status={run.body.run.status} />}
        <span class="tools">{run.body && <Steering view={run.body} onChange={run.again} />}</span>
      </div>
      {tab !== '' && tabs}
      <Read of={run}>
        {(view) => {
          if (tab === 'log') return <Log runId={runId} />;
          if (tab === 'why') return <Why runId={runId} isEnded={isFinished(view.run)} />;
          if (tab === 'declaration') return <Declaration run={view.run} />;
          return <Overview view={view} tabs={tabs} onChange={run.again} />;
        }}
      </Read>
    </>
  );
}

function Overview({
  view,
  tabs,
  onChange,
}: Readonly<{ view: View; tabs: preact.ComponentChildren; onChange: () => void }>) {
  const { runId } = view.run;
  const isEnded = isFinished(view.run);
  const now = useClock(!isEnded);
  const every = (seconds: number) => () => (isEnded ? undefined : seconds);
  const busy = useReading('getUtilisation', { runId }, every(UTILISATION_POLL_SECONDS));
  const curves = useReading('getSeries', { runId, points: POINTS }, every(SERIES_POLL_SECONDS));
  const { x, range } = shownAxis();
  const onLine = x === 'time' && range ? { from: range.from * 1000, to: range.to * 1000 } : undefined;
  const verdicts = busy.body?.verdicts ?? [];
  const line = lifeLineOf(view, now, verdictMarks(verdicts));
  return (
    <>
      <Failure view={view} onChange={onChange} />
      <Vitals view={view} series={curves.body?.series} now={now} />
      <Model view={view} />
      <Advice verdicts={verdicts} />
      <LifeLineCard line={line} range={onLine} now={isEnded ? undefined : now} />
      {tabs}
      <Read of={curves}>
        {({ series }) => (
          <Curves view={view} series={series} leading={leadingName(view, series)} busy={busy.body} />
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

/** What the run was declared to be, as it was pinned at the close of its batch. */
const Declaration = ({ run: { declaration, pipeline } }: Pick<View, 'run'>) => (
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

/** What each placement considered, and what it would have chosen otherwise. */
function Why({ runId, isEnded }: Readonly<{ runId: string; isEnded: boolean }>) {
  const every = isEnded ? undefined : PLACEMENTS_POLL_SECONDS;
  const list = useReading('listPlacements', { runId }, () => every);
  const attempts = list.body?.placements.map(({ attempt }) => attempt) ?? [];
  const chosen = address.value.query.get('attempt') ?? attempts.at(-1)?.toString();
  const one = useReading('getPlacement', chosen ? { runId, attempt: chosen } : undefined, () => undefined);
  if (list.body !== undefined && attempts.length === 0)
    return <Empty>Nothing was decided yet: a run is placed when its data is packed.</Empty>;
  const tools = (
    <ChoiceButtons
      word="attempt"
      values={attempts}
      chosen={Number(chosen)}
      text={(each) => `attempt ${each}`}
    />
  );
  return (
    <Section title="Placement" tools={tools}>
      <Read of={one}>{({ decision }) => <DecisionTable decision={decision} />}</Read>
      <div class="tools">
        <DialogButton text="What if…" title="What if…" isWide>
          {() => <WhatIfTable runId={runId} attempt={Number(chosen)} />}
        </DialogButton>
        <Command text={`npx tidewheel why ${runId} --attempt ${chosen ?? 1}`} />
      </div>
    </Section>
  );
}

const TICK_MILLISECONDS = 1_000;

/** The time, for what grows on the screen. @param isRunning false: the time stays, and nothing is drawn again */
function useClock(isRunning: boolean): number {
  const now = useSignal(Date.now());
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') now.value = Date.now();
    }, TICK_MILLISECONDS);
    return () => clearInterval(timer);
  }, [isRunning]);
  return now.value;
}
