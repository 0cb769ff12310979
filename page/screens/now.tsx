/** The screen "Now": who needs a person, what runs, and each pipeline with its last runs and its model. */
import { isFinished, savedProgress } from '../../client/run-view.ts';
import { Bars, Sparkline } from '../charts/bars.tsx';
import { type SeriesView, sparkOf } from '../model/curve.ts';
import { dollarText, elapsedText, percentText, poolText, whenText } from '../model/format.ts';
import { leadingOf } from '../model/leading.ts';
import { type Models, type Need, needsOf } from '../model/needs.ts';
import { Empty, EventRow, Frame, Read, Section } from '../parts/card.tsx';
import { Dismiss } from '../parts/controls.tsx';
import { Cells, numbers, Table, TableSection, wide } from '../parts/table.tsx';
import { Basis, Command, LinkButton, ModelLink, RowLink, RunLink, RunState, Time } from '../parts/text.tsx';
import { hrefOf } from '../state/address.ts';
import type { AnswerOf } from '../state/api.ts';
import type { Overview } from '../state/overview.ts';
import type { RunItem } from '../state/pages.ts';
import { useReading } from '../state/readings.ts';

type View = AnswerOf<'getRun'>;
type Runs = Readonly<{ runs: readonly RunItem[] }>;

const LAST = 20;
/** Each is two calls of its own. */
const OPEN = 10;
const POLL_SECONDS = 5;
const SERIES_POLL_SECONDS = 20;
const SPARK_POINTS = 40;
const PIPELINE_COLUMNS = [
  'pipeline',
  `last ${LAST} runs`,
  ...wide('model', 'its metric over drops', 'a run costs'),
  ...numbers('last run'),
];

export function NowScreen({ overview: { pipelines: list, runs, models } }: Readonly<{ overview: Overview }>) {
  const known = models.body?.models ?? [];
  const leftOut = [...(list.body?.unreadable ?? []), ...runs.unreadable];
  const tools = runs.body && <span class="quiet">{todayText(runs.body)}</span>;
  return (
    <Frame title="Now" tools={tools} leftOut={leftOut} of={list} command="runs">
      {({ pipelines, nextToken, unreadable = [] }) =>
        pipelines.length === 0 && unreadable.length === 0 ? (
          <NoPipeline />
        ) : (
          <Read of={runs}>
            {(all) => (
              <>
                <NeedsYou needs={needsOf(pipelines, all, known)} onDone={runs.again} />
                <Open runs={all.filter((run) => !isFinished(run))} />
                <TableSection
                  title="Pipelines"
                  columns={PIPELINE_COLUMNS}
                  rows={pipelines.map(({ name }) => {
                    const ofName = (each: Readonly<{ pipeline: string }>) => each.pipeline === name;
                    return cellsOf(name, all.filter(ofName), known.find(ofName));
                  })}
                />
                {nextToken !== undefined && <a href={hrefOf([], { after: nextToken })}>more pipelines</a>}
              </>
            )}
          </Read>
        )
      }
    </Frame>
  );
}

/** What ended today counts. */
function todayText(runs: readonly RunItem[]): string {
  const open = runs.filter((run) => !isFinished(run)).length;
  const today = new Date().toDateString();
  const ended = runs.filter(({ result }) => new Date(result?.finishedAt ?? 0).toDateString() === today);
  const usd = ended.reduce((sum, { result }) => sum + (result?.costUsd ?? 0), 0);
  return `${open} open · ${ended.length} ended today for ${dollarText(usd)}`;
}

const NeedsYou = ({ needs, onDone }: Readonly<{ needs: readonly Need[]; onDone: () => void }>) =>
  needs.length === 0 ? null : (
    <Section title="Needs you">
      <ul class="card events">
        {needs.map(({ kind, pipeline, run, text, more }) => (
          <EventRow
            key={`${kind} ${pipeline}`}
            state={run ? 'failed' : 'warn'}
            bold={
              run ? <RunLink runId={run.runId} /> : <a href={hrefOf(['pipelines', pipeline])}>{pipeline}</a>
            }
            text={run ? `failed after ${elapsedText(run.createdAt, run.updatedAt)}: ${text}` : text}
            more={more}
          >
            {kind === 'declaration' && <Command of="check" />}
            {kind === 'model' && <LinkButton text="Decide…" to={['pipelines', pipeline, 'models']} />}
            {run && <LinkButton text="Log" to={['runs', run.runId, 'log']} />}
            {run && <LinkButton text="Look" to={['runs', run.runId]} />}
            {run && <Dismiss run={run} onDone={onDone} />}
          </EventRow>
        ))}
      </ul>
    </Section>
  );

const COLUMNS = ['run', ...wide('saved'), 'leading metric', ...wide('cost'), 'done by', ...wide('where')];

const Open = ({ runs }: Runs) =>
  runs.length === 0 ? null : (
    <Section title="Running" note={runs.length > OPEN ? `${OPEN} of ${runs.length}` : undefined}>
      <Table caption="open runs" columns={COLUMNS}>
        {runs.slice(0, OPEN).map((run) => (
          <OpenRow key={run.runId} run={run} />
        ))}
      </Table>
    </Section>
  );

function OpenRow({ run: { runId, status, deadlineAt } }: Readonly<{ run: RunItem }>) {
  const { body } = useReading('getRun', { runId }, ({ run }) => (isFinished(run) ? undefined : POLL_SECONDS));
  const name = body?.run.declaration?.training.objective?.metric;
  const points = body && { runId, points: SPARK_POINTS, name };
  const curves = useReading('getSeries', points, () => SERIES_POLL_SECONDS);
  const known = body === undefined ? [] : openCells(body, curves.body?.series ?? [], deadlineAt);
  return (
    <tr>
      <Cells columns={COLUMNS} cells={[<RunState {...{ runId, status }} />, ...known]} />
    </tr>
  );
}

const openCells = (view: View, series: readonly SeriesView[], deadlineAt: string | undefined) => {
  const { step = 0, totalSteps = 0 } = savedProgress(view) ?? {};
  const leading = leadingOf(view, series);
  const { usd, expected } = view.money;
  const attempt = view.attempts.at(-1);
  return [
    totalSteps > 0 && (
      <>
        <progress value={step} max={totalSteps} aria-label={`saved work of ${view.run.runId}`} />
        <small>{percentText(step / totalSteps)}</small>
      </>
    ),
    leading && (
      <>
        <Sparkline label={`${leading.name} so far`} values={sparkOf(leading.series)} />
        <small>{`${leading.name} ${leading.value}`}</small>
      </>
    ),
    <>
      <Basis of="billed seconds of all attempts by the price of their pools">{dollarText(usd)}</Basis>
      {expected && <small>{`of ${dollarText(expected.usd.expected)}`}</small>}
    </>,
    doneBy(expected, deadlineAt),
    attempt && attempt.outcome === undefined && poolText(attempt.placement),
  ];
};

function doneBy(expected: View['money']['expected'], deadlineAt = '') {
  const end = Math.max(Date.now(), Date.parse(expected?.finishAt.expected ?? ''));
  const left = Date.parse(deadlineAt) - end;
  const due = left >= 0 ? `${elapsedText(0, left)} to spare` : `deadline ${whenText(deadlineAt)}`;
  return (
    <>
      {Number.isNaN(end) ? 'not known yet' : whenText(end)}
      {deadlineAt && <small>{due}</small>}
    </>
  );
}

/** Without a model on record, the newest run that left one. */
function cellsOf(name: string, runs: readonly RunItem[], models: Models | undefined) {
  const costs = runs.flatMap(({ result }) => result?.costUsd ?? []).slice(0, LAST);
  const newest = runs.find(({ modelUri }) => modelUri !== undefined);
  const { metric } = newest?.result ?? {};
  const measured = runs.flatMap(
    ({ result }) => (result?.metric?.name === metric?.name && result?.metric?.value) || [],
  );
  const model = models?.current ?? newest;
  const isJudged = models !== undefined && models.means.length > 0;
  const mean = costs.reduce((sum, usd) => sum + usd, 0) / costs.length;
  return [
    <strong>
      <RowLink name={name} href={hrefOf(['pipelines', name])} />
    </strong>,
    <Sparks name={name} runs={runs.slice(0, LAST)} />,
    model && <ModelLink model={model} metric={metric} />,
    <Sparkline
      label={`${isJudged ? models.metric : metric?.name} of the last drops`}
      values={isJudged ? models.means : measured.slice(0, LAST).toReversed()}
    />,
    costs.length > 0 && <Basis of="the mean of its last runs">{dollarText(mean)}</Basis>,
    runs[0] && <Time at={runs[0].createdAt} />,
  ];
}

/** Height is cost, colour is outcome; each bar says both. */
function Sparks({ name, runs }: Runs & Readonly<{ name: string }>) {
  if (runs.length === 0) return <>none: drop data below its incoming/</>;
  const bars = runs.toReversed().map(({ runId, status, result, createdAt, updatedAt }) => ({
    name: `${runId}: ${status}${result ? `, ${dollarText(result.costUsd)}` : ''}, ${elapsedText(createdAt, updatedAt)}`,
    value: result?.costUsd ?? 0,
    kind: `is-${status}`,
  }));
  const ended = runs.filter(({ status }) => status === 'succeeded').length;
  const label = `last ${runs.length} runs of ${name}: ${ended} succeeded`;
  return <Bars class="sparks" places={LAST} label={label} bars={bars} />;
}

const NoPipeline = () => (
  <Empty>
    <p>There is no pipeline yet. Let one be written for a folder with a script and data, then declare it:</p>
    <Command of="init" />
    <Command of="apply" />
    <p>Or write the declaration yourself (docs/pipeline.md), and copy it into the bucket:</p>
    <Command text="aws s3 cp pipeline.yaml s3://BUCKET/pipelines/NAME.yaml" />
  </Empty>
);
