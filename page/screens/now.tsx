/** The screen "Now": who needs a person, what runs, and each pipeline with its last runs. */
import { isFinished, savedProgress } from '../../client/run-view.ts';
import { Bars, Sparkline } from '../charts/bars.tsx';
import { type SeriesView, sparkOf } from '../model/curve.ts';
import {
  dollarText,
  elapsedText,
  percentText,
  poolText,
  shortName,
  shortNumber,
  whenText,
} from '../model/format.ts';
import { leadingOf } from '../model/leading.ts';
import { type Need, needsOf } from '../model/needs.ts';
import { EventRow, Head, Read, Section } from '../parts/card.tsx';
import { Dismiss } from '../parts/dismiss.tsx';
import { Cells, numbers, Table, TableFrame, wide } from '../parts/table.tsx';
import { Command, LeftOutText, Pill, RunLink, Time, Usd } from '../parts/text.tsx';
import { hrefOf } from '../state/address.ts';
import type { AnswerOf } from '../state/api.ts';
import type { Overview } from '../state/overview.ts';
import type { RunItem } from '../state/pages.ts';
import { useReading } from '../state/readings.ts';

type Runs = Readonly<{ runs: readonly RunItem[] }>;

const LAST = 20;
/** Each is two calls of its own. */
const OPEN = 10;
const POLL_SECONDS = 5;
const SERIES_POLL_SECONDS = 20;
const SPARK_POINTS = 40;

export const NowScreen = ({ overview: { pipelines: list, runs } }: Readonly<{ overview: Overview }>) => (
  <>
    <Head title="Now">{runs.body && <span class="quiet">{todayText(runs.body)}</span>}</Head>
    <LeftOutText why={[...(list.body?.unreadable ?? []), ...runs.unreadable]} />
    <Read of={list}>
      {({ pipelines, nextToken, unreadable = [] }) =>
        pipelines.length === 0 && unreadable.length === 0 ? (
          <NoPipeline />
        ) : (
          <Read of={runs}>
            {(all) => (
              <>
                <NeedsYou needs={needsOf(pipelines, all)} onDone={runs.again} />
                <Open runs={all.filter((run) => !isFinished(run))} />
                <Pipelines names={pipelines.map(({ name }) => name)} runs={all} />
                {nextToken !== undefined && <a href={hrefOf([], { after: nextToken })}>more pipelines</a>}
              </>
            )}
          </Read>
        )
      }
    </Read>
    <Command text="npx tidewheel runs" />
  </>
);

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
      <ul class="card events needs">
        {needs.map(({ pipeline, run, text, more }) =>
          run === undefined ? (
            <EventRow
              key={pipeline}
              state="warn"
              bold={<a href={hrefOf(['pipelines', pipeline])}>{pipeline}</a>}
              text={`is declared wrongly: ${text}`}
            >
              <Command text="npx tidewheel check" />
            </EventRow>
          ) : (
            <EventRow
              key={pipeline}
              state="failed"
              bold={<RunLink runId={run.runId} />}
              text={`failed after ${elapsedText(run.createdAt, run.updatedAt)}: ${text}`}
              more={more}
            >
              <a class="button" href={hrefOf(['runs', run.runId, 'log'])}>
                Log
              </a>
              <a class="button" href={hrefOf(['runs', run.runId])}>
                Look
              </a>
              <Dismiss run={run} onDone={onDone} />
            </EventRow>
          ),
        )}
      </ul>
    </Section>
  );

const COLUMNS = ['run', ...wide('saved'), 'leading metric', ...wide('cost'), 'done by', ...wide('where')];

const Open = ({ runs }: Runs) =>
  runs.length === 0 ? null : (
    <Section title="Running" note={runs.length > OPEN ? `${OPEN} of ${runs.length}` : undefined}>
      <TableFrame caption="open runs" columns={COLUMNS}>
        {runs.slice(0, OPEN).map((run) => (
          <OpenRow key={run.runId} run={run} />
        ))}
      </TableFrame>
    </Section>
  );

function OpenRow({ run: { runId, status, deadlineAt } }: Readonly<{ run: RunItem }>) {
  const { body } = useReading('getRun', { runId }, ({ run }) => (isFinished(run) ? undefined : POLL_SECONDS));
  const name = body?.run.declaration?.training.objective?.metric;
  const points = body && { runId, points: SPARK_POINTS, name };
  const curves = useReading('getSeries', points, () => SERIES_POLL_SECONDS);
  const cells = [
    <span class="cell">
      <RunLink runId={runId} />
      <Pill status={status} />
    </span>,
    body && <Saved view={body} />,
    body && <Leading view={body} series={curves.body?.series ?? []} />,
    body && <Cost money={body.money} />,
    <DoneBy expected={body?.money.expected} deadlineAt={deadlineAt} />,
    body && whereText(body),
  ];
  return (
    <tr>
      <Cells columns={COLUMNS} cells={cells} />
    </tr>
  );
}

function Leading({ view, series }: Readonly<{ view: View; series: readonly SeriesView[] }>) {
  const leading = leadingOf(view, series);
  if (leading === undefined) return null;
  return (
    <>
      <Sparkline label={`${leading.name} so far`} values={sparkOf(leading.series)} />
      <small>{`${leading.name} ${leading.value}`}</small>
    </>
  );
}

function whereText({ attempts }: View): string {
  const attempt = attempts.at(-1);
  return attempt === undefined || attempt.outcome !== undefined ? '' : poolText(attempt.placement);
}

type View = AnswerOf<'getRun'>;

function Saved({ view }: Readonly<{ view: View }>) {
  const { step = 0, totalSteps = 0 } = savedProgress(view) ?? {};
  if (totalSteps <= 0) return null;
  return (
    <>
      <progress value={step} max={totalSteps} aria-label={`saved work of ${view.run.runId}`} />
      <small>{percentText(step / totalSteps)}</small>
    </>
  );
}

const Cost = ({ money: { usd, expected } }: Pick<View, 'money'>) => (
  <>
    <Usd usd={usd} basis="billed seconds of all attempts by the price of their pools" />
    {expected && <small>{`of ${dollarText(expected.usd.expected)}`}</small>}
  </>
);

function DoneBy({
  expected,
  deadlineAt,
}: Readonly<{ expected: View['money']['expected']; deadlineAt: string | undefined }>) {
  const end = Math.max(Date.now(), Date.parse(expected?.finishAt.expected ?? ''));
  const left = Date.parse(deadlineAt ?? '') - end;
  const due =
    deadlineAt && (left >= 0 ? `${elapsedText(0, left)} to spare` : `deadline ${whenText(deadlineAt)}`);
  return (
    <>
      {Number.isNaN(end) ? 'not known yet' : whenText(end)}
      {due && <small>{due}</small>}
    </>
  );
}

const Pipelines = ({ names, runs }: Runs & Readonly<{ names: readonly string[] }>) => (
  <Section title="Pipelines">
    <Table
      caption="pipelines"
      columns={[
        'pipeline',
        `last ${LAST} runs`,
        ...wide('newest model', 'its metric over runs', 'a run costs'),
        ...numbers('last run'),
      ]}
      rows={names.map((name) =>
        cellsOf(
          name,
          runs.filter(({ pipeline }) => pipeline === name),
        ),
      )}
    />
  </Section>
);

function cellsOf(name: string, runs: readonly RunItem[]) {
  const costs = runs.flatMap(({ result }) => result?.costUsd ?? []).slice(0, LAST);
  const model = runs.find(({ modelUri }) => modelUri !== undefined);
  const { metric } = model?.result ?? {};
  const values = runs.flatMap(
    ({ result }) => (result?.metric?.name === metric?.name && result?.metric?.value) || [],
  );
  return [
    <a class="run-id" href={hrefOf(['pipelines', name])} title={name} data-row>
      <strong>{shortName(name)}</strong>
    </a>,
    runs[0] === undefined ? (
      'none: drop data below its incoming/'
    ) : (
      <Sparks name={name} runs={runs.slice(0, LAST)} />
    ),
    model && (
      <>
        <RunLink runId={model.runId} />
        {metric && <small>{`${metric.name} ${shortNumber(metric.value ?? Number.NaN)}`}</small>}
      </>
    ),
    <Sparkline label={`${metric?.name} of the last runs`} values={values.slice(0, LAST).toReversed()} />,
    costs.length > 0 && (
      <Usd usd={costs.reduce((sum, usd) => sum + usd, 0) / costs.length} basis="the mean of its last runs" />
    ),
    runs[0] && <Time at={runs[0].createdAt} />,
  ];
}

/** Height is cost, colour is outcome; each bar says both. */
function Sparks({ name, runs }: Runs & Readonly<{ name: string }>) {
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
  <div class="card empty">
    <p>There is no pipeline yet. Let one be written for a folder with a script and data, then declare it:</p>
    <Command text="npx tidewheel init" />
    <Command text="npx tidewheel apply" />
    <p>Or write the declaration yourself (docs/pipeline.md), and copy it into the bucket:</p>
    <Command text="aws s3 cp pipeline.yaml s3://BUCKET/pipelines/NAME.yaml" />
  </div>
);
