/** The screen "Now": who needs a person, what runs, and each pipeline with its last runs. */
import { isFinished, savedProgress } from '../../client/run-view.ts';
import { Bars, Sparkline } from '../charts/bars.tsx';
import {
  dollarText,
  elapsedText,
  percentText,
  placeText,
  poolText,
  shortName,
  shortNumber,
  whenText,
} from '../model/format.ts';
import { leadingOf } from '../model/leading.ts';
import { type Need, needsOf } from '../model/needs.ts';
import { sparkOf } from '../model/curve.ts';
import { EventRow, Head, Read, Section } from '../parts/card.tsx';
import { SendButton } from '../parts/controls.tsx';
import { Cells, numbers, Table, TableFrame, wide } from '../parts/table.tsx';
import { Command, LeftOutText, Pill, RunLink, Time, Usd } from '../parts/text.tsx';
import { hrefOf } from '../state/address.ts';
import { type AnswerOf, client, inWords } from '../state/api.ts';
import type { Overview } from '../state/overview.ts';
import type { RunItem } from '../state/pages.ts';
import { useReading } from '../state/readings.ts';

const SPARKS = 20;
/** Each is two calls of its own. */
const OPEN = 10;
const POLL_SECONDS = 5;
const SERIES_POLL_SECONDS = 20;
const SPARK_POINTS = 40;
const COST_BASIS = 'billed seconds of all attempts by the price of their pools';

type Pipeline = AnswerOf<'listPipelines'>['pipelines'][number];

export const NowScreen = ({ overview: { pipelines: list, runs } }: { readonly overview: Overview }) => (
  <>
    <Head title="Now">{runs.body !== undefined && <span class="quiet">{todayText(runs.body)}</span>}</Head>
    <LeftOutText why={[...(list.body?.unreadable ?? []), ...runs.unreadable]} />
    <Read of={list} rows={8}>
      {({ pipelines, nextToken, unreadable = [] }) =>
        pipelines.length === 0 && unreadable.length === 0 ? (
          <NoPipeline />
        ) : (
          <Read of={runs} rows={8}>
            {(all) => (
              <>
                <NeedsYou needs={needsOf(pipelines, all)} onDone={runs.again} />
                <Open runs={all.filter((run) => !isFinished(run))} />
                <Pipelines pipelines={pipelines} runs={all} />
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

interface NeedsProps {
  readonly needs: readonly Need[];
  readonly onDone: () => void;
}

const NeedsYou = ({ needs, onDone }: NeedsProps) =>
  needs.length === 0 ? null : (
    <Section title="Needs you">
      <ul class="card events needs">
        {needs.map((need) =>
          need.kind === 'failure' ? (
            <Failed key={need.run.runId} need={need} onDone={onDone} />
          ) : (
            <EventRow
              key={need.pipeline}
              state="warn"
              bold={<a href={hrefOf(['pipelines', need.pipeline])}>{need.pipeline}</a>}
              text={`is declared wrongly: ${need.text}`}
            >
              <Command text="npx tidewheel check" />
            </EventRow>
          ),
        )}
      </ul>
    </Section>
  );

interface FailedProps {
  readonly need: Extract<Need, { kind: 'failure' }>;
  readonly onDone: () => void;
}

const Failed = ({ need: { run, text, more }, onDone }: FailedProps) => (
  <EventRow
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
    <SendButton
      text="Dismiss"
      call={async () => inWords(await client.call('acknowledgeRun', { runId: run.runId }))}
      onDone={onDone}
    />
  </EventRow>
);

const COLUMNS = [
  'run',
  ...wide('saved'),
  'leading metric',
  { title: 'cost', isNumber: true, isWide: true },
  'done by',
  ...wide('where'),
];

const Open = ({ runs }: { readonly runs: readonly RunItem[] }) =>
  runs.length === 0 ? null : (
    <Section title="Running" note={runs.length > OPEN ? `${OPEN} of ${runs.length}` : undefined}>
      <TableFrame caption="open runs" columns={COLUMNS}>
        {runs.slice(0, OPEN).map((run) => (
          <OpenRow key={run.runId} run={run} />
        ))}
      </TableFrame>
    </Section>
  );

function OpenRow({ run: { runId, status, deadlineAt } }: { readonly run: RunItem }) {
  const { body } = useReading('getRun', { runId }, ({ run }) => (isFinished(run) ? undefined : POLL_SECONDS));
  const name = body?.run.declaration?.training.objective?.metric;
  const curves = useReading(
    'getSeries',
    body && { runId, points: SPARK_POINTS, name },
    () => SERIES_POLL_SECONDS,
  );
  const leading = body && leadingOf(body, curves.body?.series ?? []);
  const cells = [
    <span class="cell">
      <RunLink runId={runId} />
      <Pill status={status} />
    </span>,
    body && <Saved view={body} />,
    leading && (
      <>
        <Sparkline label={`${leading.name} so far`} values={sparkOf(leading.series)} />
        <small>{`${leading.name} ${leading.value}`}</small>
      </>
    ),
    body && (
      <>
        <Usd usd={body.money.usd} basis={COST_BASIS} />
        {body.money.expected !== undefined && (
          <small>{`of ${dollarText(body.money.expected.usd.expected)}`}</small>
        )}
      </>
    ),
    <DoneBy at={body?.money.expected?.finishAt.expected} deadlineAt={deadlineAt} />,
    body && whereText(body),
  ];
  return (
    <tr>
      <Cells columns={COLUMNS} cells={cells} />
    </tr>
  );
}

function Saved({ view }: { readonly view: AnswerOf<'getRun'> }) {
  const { step = 0, totalSteps = 0 } = savedProgress(view) ?? {};
  if (totalSteps <= 0) return <small>nothing yet</small>;
  return (
    <>
      <progress value={step} max={totalSteps} aria-label={`saved work of ${view.run.runId}`} />
      <small>{percentText(step / totalSteps)}</small>
    </>
  );
}

const DoneBy = ({
  at,
  deadlineAt,
}: {
  readonly at: string | undefined;
  readonly deadlineAt: string | undefined;
}) => {
  const end = Math.max(Date.now(), Date.parse(at ?? ''));
  const left = Date.parse(deadlineAt ?? '') - end;
  return (
    <>
      {Number.isNaN(end) ? 'not known yet' : whenText(end)}
      {deadlineAt !== undefined && (
        <small>{left >= 0 ? `${elapsedText(0, left)} to spare` : `deadline ${whenText(deadlineAt)}`}</small>
      )}
    </>
  );
};

function whereText({ run, attempts }: AnswerOf<'getRun'>): string {
  const attempt = attempts.at(-1);
  if (attempt === undefined || attempt.outcome !== undefined) return run.status;
  const { topology, pool } = attempt.placement;
  return topology.nodes === 1 ? placeText(pool) : poolText(attempt.placement);
}

interface PipelinesProps {
  readonly pipelines: readonly Pipeline[];
  readonly runs: readonly RunItem[];
}

const Pipelines = ({ pipelines, runs }: PipelinesProps) => (
  <Section title="Pipelines">
    <Table
      caption="pipelines"
      columns={[
        'pipeline',
        'last 20 runs',
        ...wide('newest model', 'its metric over runs'),
        { title: 'a run costs', isNumber: true, isWide: true },
        ...numbers('last run'),
      ]}
      rows={pipelines.map(({ name }) =>
        cellsOf(
          name,
          runs.filter(({ pipeline }) => pipeline === name),
        ),
      )}
    />
  </Section>
);

function cellsOf(name: string, runs: readonly RunItem[]) {
  const [newest] = runs;
  const costs = runs.flatMap(({ result }) => result?.costUsd ?? []).slice(0, SPARKS);
  const model = runs.find(({ modelUri }) => modelUri !== undefined);
  const metric = model?.result?.metric;
  const values = runs.flatMap(({ result }) =>
    result?.metric?.name === metric?.name && typeof result?.metric?.value === 'number'
      ? [result.metric.value]
      : [],
  );
  return [
    <a class="run-id" href={hrefOf(['pipelines', name])} title={name} data-row>
      <strong>{shortName(name)}</strong>
    </a>,
    newest === undefined ? (
      'none: drop data below its incoming/'
    ) : (
      <Sparks name={name} runs={runs.slice(0, SPARKS).toReversed()} />
    ),
    model && (
      <>
        <RunLink runId={model.runId} />
        {typeof metric?.value === 'number' && <small>{`${metric.name} ${shortNumber(metric.value)}`}</small>}
      </>
    ),
    metric && (
      <Sparkline label={`${metric.name} of the last runs`} values={values.slice(0, SPARKS).toReversed()} />
    ),
    costs.length === 0 ? (
      ''
    ) : (
      <Usd usd={costs.reduce((sum, usd) => sum + usd, 0) / costs.length} basis="the mean of its last runs" />
    ),
    newest && <Time at={newest.createdAt} />,
  ];
}

/** Height is cost, colour is outcome; each bar says both. */
function Sparks({ name, runs }: { readonly name: string; readonly runs: readonly RunItem[] }) {
  const bars = runs.map(({ runId, status, result, createdAt, updatedAt }) => ({
    name: `${runId}: ${status}${result === undefined ? '' : `, ${dollarText(result.costUsd)}`}, ${elapsedText(createdAt, updatedAt)}`,
    value: result?.costUsd ?? 0,
    kind: `is-${status}`,
  }));
  const ended = runs.filter(({ status }) => status === 'succeeded').length;
  return (
    <Bars
      class="sparks"
      places={SPARKS}
      label={`last ${runs.length} runs of ${name}: ${ended} succeeded`}
      bars={bars}
    />
  );
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
