/** The screen "Run": in one look how good, how far, when done and what it costs; then advice, life line, curves and events. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { isFinished } from '../../../client/run-view.ts';
import { LifeLineCard } from '../../charts/life-line.tsx';
import { lifeLineOf, verdictMarks } from '../../model/life-line.ts';
import type { ModelView } from '../../model/lineage.ts';
import { Empty, Frame, Read, Section, Vitals } from '../../parts/card.tsx';
import { ChoiceButtons, DialogButton } from '../../parts/controls.tsx';
import { Command, Pill, Tabs } from '../../parts/text.tsx';
import { address } from '../../state/address.ts';
import type { AnswerOf } from '../../state/api.ts';
import type { Overview as App } from '../../state/overview.ts';
import { useReading } from '../../state/readings.ts';
import { Curves, shownAxis } from './curves.tsx';
import { DecisionTable, Question } from './decision.tsx';
import { Log } from './log.tsx';
import { Advice, Details, Events, Failure, Model, runVitals } from './overview.tsx';
import { Steering } from './steering.tsx';

/** An event is seen within two seconds of its time. */
const POLL_SECONDS = 1.25;
const SERIES_POLL_SECONDS = 5;
const PLACEMENTS_POLL_SECONDS = 15;
/** A point stands for ten seconds or more. */
const UTILISATION_POLL_SECONDS = 20;
const POINTS = 500;

type View = AnswerOf<'getRun'>;
type RunScreenProps = Readonly<{ runId: string; tab: string; overview: App }>;

/** @param tab of the address */
export function RunScreen({ runId, tab, overview }: RunScreenProps) {
  const run = useReading(
    'getRun',
    { runId },
    (view) => (isFinished(view.run) ? undefined : POLL_SECONDS),
    (view) => `${view.run.status} ${view.timelineCount}`,
  );
  const { body, again: onChange } = run;
  const [, pipeline = runId] = /^(.*?)-(?:probe-)?\d+$/.exec(runId) ?? [];
  const inUse = overview.models.body?.models.find((each) => each.pipeline === pipeline)?.current;
  const beside = body && <Pill status={body.run.status} />;
  const tools = body && <Steering view={body} onChange={onChange} />;
  const tabs = <RunTabs runId={runId} pipeline={pipeline} />;
  const isOverview = !COMMANDS.has(tab);
  const attempt = tab === 'why' && address.value.query.get('attempt');
  const words = [COMMANDS.get(tab) ?? 'watch RUN', attempt && `--attempt ${attempt}`];
  const command = words.filter(Boolean).join(' ').replace('RUN', runId);
  const frame = { beside, tools, command, tabs: isOverview && body ? undefined : tabs };
  return (
    <Frame title={runId} {...frame} of={run}>
      {(view) => (
        <>
          {isOverview && <Overview {...{ view, tabs, inUse, onChange }} />}
          {tab === 'log' && <Log runId={runId} />}
          {tab === 'why' && <Why runId={runId} isEnded={isFinished(view.run)} />}
          {tab === 'declaration' && <Declaration run={view.run} />}
        </>
      )}
    </Frame>
  );
}

const RunTabs = ({ runId, pipeline }: Readonly<Record<'runId' | 'pipeline', string>>) => (
  <Tabs
    label="of this run"
    tabs={[
      ['Overview', ['runs', runId]],
      ['Log', ['runs', runId, 'log']],
      ['Why here', ['runs', runId, 'why']],
      ['Declaration', ['runs', runId, 'declaration']],
      ['Data', ['pipelines', pipeline, 'data']],
      ['Compare', ['compare'], { runs: runId }],
      [`All of ${pipeline}`, ['pipelines', pipeline]],
    ]}
  />
);

/** By the tabs that show no overview. */
const COMMANDS = new Map([
  ['log', 'logs RUN --follow'],
  ['why', 'why RUN'],
  ['declaration', 'check'],
]);

type OverviewProps = Readonly<{
  view: View;
  tabs: ComponentChildren;
  inUse: ModelView | undefined;
  onChange: () => void;
}>;

function Overview({ view, tabs, inUse, onChange }: OverviewProps) {
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
      <Vitals label="vital figures" of={runVitals(view, now, curves.body?.series, inUse)} />
      <Model view={view} />
      <Advice verdicts={verdicts} />
      <LifeLineCard line={line} range={onLine} now={isEnded ? undefined : now} />
      {tabs}
      <Read of={curves}>{({ series }) => <Curves {...{ view, series }} busy={busy.body} />}</Read>
      <Events view={view} />
      <Details view={view} onChange={onChange} />
      <Command of={`logs ${runId}`} />
      <Command of={`doctor ${runId}`} />
    </>
  );
}

/** What the run was declared to be, as it was pinned at the close of its batch. */
const Declaration = ({ run: { declaration, pipeline } }: Pick<View, 'run'>) =>
  declaration === undefined ? (
    <Empty>Its batch is not closed yet: until then it follows the declaration of {pipeline}.</Empty>
  ) : (
    <pre tabIndex={0} role="region" aria-label="declaration">
      {JSON.stringify(declaration, undefined, 2)}
    </pre>
  );

/** What each placement considered, and what it would have chosen otherwise. */
function Why({ runId, isEnded }: Readonly<{ runId: string; isEnded: boolean }>) {
  const list = useReading('listPlacements', { runId }, () => (isEnded ? undefined : PLACEMENTS_POLL_SECONDS));
  const attempts = list.body?.placements.map(({ attempt }) => attempt) ?? [];
  const attempt = address.value.query.get('attempt') ?? attempts.at(-1)?.toString();
  const one = useReading('getPlacement', attempt ? { runId, attempt } : undefined);
  if (list.body !== undefined && attempts.length === 0)
    return <Empty>Nothing was decided yet: a run is placed when its data is packed.</Empty>;
  const tools = (
    <>
      <ChoiceButtons word="attempt" values={attempts} chosen={Number(attempt)} />
      <DialogButton text="What if…" title="What if…">
        {() => <Question runId={runId} attempt={attempt ?? ''} />}
      </DialogButton>
    </>
  );
  return (
    <Section title={`Placement of attempt ${attempt ?? 1}`} tools={tools}>
      <Read of={one}>{({ decision }) => <DecisionTable decision={decision} />}</Read>
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
