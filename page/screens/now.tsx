/** The screen "Now": what needs a person, a row a pipeline with its last runs, and the runs that are open. */

import { isFinished, savedProgress } from '../../client/run-view.ts';
import { Bars } from '../charts/bars.tsx';
import { dollarText, elapsedText, poolText } from '../model/format.ts';
import { RunLink } from '../parts/run-link.tsx';
import { TableFrame } from '../parts/table.tsx';
import { Command, LeftOutText, Time, Usd } from '../parts/text.tsx';
import { hrefOf } from '../state/address.ts';
import type { AnswerOf } from '../state/api.ts';
import { type RunItem, useRuns } from '../state/pages.ts';
import { useReading } from '../state/readings.ts';

const PIPELINES = 100;
const RUNS = 200;
const SPARKS = 20;
/** Each is a call of its own. */
const OPEN = 10;
const POLL_SECONDS = 5;
const PIPELINES_POLL_SECONDS = 15;
const COST_BASIS = 'billed seconds of all attempts by the price of their pools';

type Pipeline = AnswerOf<'listPipelines'>['pipelines'][number];

/** @param after token of the page of pipelines */
export function NowScreen({ after }: { readonly after: string | undefined }) {
  const list = useReading(
    'listPipelines',
    { limit: PIPELINES, nextToken: after },
    () => PIPELINES_POLL_SECONDS,
  );
  const { runs, unreadable } = useRuns({ limit: RUNS }, POLL_SECONDS);
  if (list.body === undefined) return list.refusal === undefined ? <p>Reading the API…</p> : null;
  const { pipelines, nextToken, unreadable: others = [] } = list.body;
  if (pipelines.length === 0 && others.length === 0) return <Empty />;
  const byPipeline = Map.groupBy(runs, ({ pipeline }) => pipeline);
  return (
    <>
      <h1>Now</h1>
      <LeftOutText why={[...others, ...unreadable]} />
      <NeedsYou pipelines={pipelines} runs={runs} />
      <Open runs={runs.filter((run) => !isFinished(run))} />
      <h2>Pipelines</h2>
      <TableFrame caption="pipelines" columns={['pipeline', 'newest run', 'state', 'changed', 'last runs']}>
        {pipelines.map((pipeline) => (
          <Row key={pipeline.name} pipeline={pipeline} runs={byPipeline.get(pipeline.name) ?? []} />
        ))}
      </TableFrame>
      {nextToken !== undefined && <a href={hrefOf([], { after: nextToken })}>more pipelines</a>}
      <Command text="npx tidewheel runs" />
    </>
  );
}

/** Nothing here waits for the service: a person has to act. */
function NeedsYou({
  pipelines,
  runs,
}: {
  readonly pipelines: readonly Pipeline[];
  readonly runs: readonly RunItem[];
}) {
  const invalid = pipelines.filter(({ valid }) => !valid);
  const newest = new Map<string, RunItem>();
  for (const run of runs) if (!newest.has(run.pipeline)) newest.set(run.pipeline, run);
  const failed = [...newest.values()].filter(({ status }) => status === 'failed');
  if (invalid.length + failed.length === 0) return null;
  return (
    <section class="needs" aria-label="needs you">
      <h2>Needs you</h2>
      <ul>
        {invalid.map(({ name, problems }) => (
          <li key={name}>
            <strong>{name}</strong> {problemsText(problems)}
          </li>
        ))}
        {failed.map(({ runId, failure }) => (
          <li key={runId}>
            <RunLink runId={runId} /> failed: {failure}
          </li>
        ))}
      </ul>
    </section>
  );
}

const problemsText = (problems: Pipeline['problems'] = []): string =>
  `declaration not valid: ${problems.map(({ path, message }) => `${path}: ${message}`).join('; ')}`;

function Open({ runs }: { readonly runs: readonly RunItem[] }) {
  if (runs.length === 0) return null;
  const columns = ['run', 'state', 'saved', 'cost of expected', 'expected end', 'deadline', 'where'];
  return (
    <>
      <h2>Open</h2>
      <TableFrame caption="open runs" columns={columns}>
        {runs.slice(0, OPEN).map((run) => (
          <OpenRow key={run.runId} run={run} />
        ))}
      </TableFrame>
      {runs.length > OPEN && <p class="quiet">{`and ${runs.length - OPEN} more`}</p>}
    </>
  );
}

function OpenRow({ run: { runId, status, deadlineAt } }: { readonly run: RunItem }) {
  const { body } = useReading('getRun', { runId }, ({ run }) => (isFinished(run) ? undefined : POLL_SECONDS));
  return (
    <tr>
      <td>
        <RunLink runId={runId} />
      </td>
      <td>{status}</td>
      {body === undefined ? <td colSpan={3} /> : <OpenCells view={body} />}
      <td>{deadlineAt === undefined ? 'none' : <Time at={deadlineAt} />}</td>
      <td>{body !== undefined && <Where view={body} />}</td>
    </tr>
  );
}

function OpenCells({ view }: { readonly view: AnswerOf<'getRun'> }) {
  const { run, money } = view;
  const { step = 0, totalSteps = 0 } = savedProgress(view) ?? {};
  return (
    <>
      <td>
        {totalSteps > 0 && (
          <progress value={step} max={totalSteps} aria-label={`saved work of ${run.runId}`} />
        )}
      </td>
      <td>
        <Usd usd={money.usd} basis={COST_BASIS} />
        {money.expected !== undefined && ` of ${dollarText(money.expected.usd.expected)}`}
      </td>
      <td>{money.expected !== undefined && <Time at={money.expected.finishAt.expected} />}</td>
    </>
  );
}

function Where({ view: { attempts } }: { readonly view: AnswerOf<'getRun'> }) {
  const attempt = attempts.at(-1);
  return attempt === undefined || attempt.outcome !== undefined ? null : <>{poolText(attempt.placement)}</>;
}

interface RowProps {
  readonly pipeline: Pipeline;
  readonly runs: readonly RunItem[];
}

function Row({ pipeline: { name }, runs }: RowProps) {
  const [newest] = runs;
  return (
    <tr>
      <td>
        <a href={hrefOf(['pipelines', name])} data-row>
          {name}
        </a>{' '}
        <a class="quiet" href={hrefOf(['pipelines', name, 'data'])} aria-label={`data of ${name}`}>
          data
        </a>
      </td>
      <td>
        {newest === undefined ? (
          'none: drop data below its incoming/'
        ) : (
          <a href={hrefOf(['runs', newest.runId])}>{newest.runId}</a>
        )}
      </td>
      <td>
        {newest?.status}
        {newest?.result !== undefined && (
          <>
            {' '}
            <Usd usd={newest.result.costUsd} basis={COST_BASIS} />
          </>
        )}
      </td>
      <td>{newest && <Time at={newest.updatedAt} />}</td>
      <td>
        <Sparks name={name} runs={runs.slice(0, SPARKS).toReversed()} />
      </td>
    </tr>
  );
}

/** Height is cost, colour is outcome; each bar says both. */
function Sparks({ name, runs }: { readonly name: string; readonly runs: readonly RunItem[] }) {
  if (runs.length === 0) return null;
  const bars = runs.map(({ runId, status, result, createdAt, updatedAt }) => {
    const cost = result === undefined ? '' : `, ${dollarText(result.costUsd)}`;
    const took = elapsedText(createdAt, updatedAt);
    return {
      name: `${runId}: ${status}${cost}, ${took}`,
      value: result?.costUsd ?? 0,
      kind: `run-${status}`,
    };
  });
  const ended = runs.filter(({ status }) => status === 'succeeded').length;
  return (
    <Bars class="sparks" label={`last ${runs.length} runs of ${name}: ${ended} succeeded`} bars={bars} />
  );
}

const Empty = () => (
  <>
    <h1>Now</h1>
    <p>There is no pipeline yet. Let one be written for a folder with a script and data, then declare it:</p>
    <Command text="npx tidewheel init" />
    <Command text="npx tidewheel apply" />
    <p class="quiet">Or write the declaration yourself (docs/pipeline.md), and copy it into the bucket:</p>
    <Command text="aws s3 cp pipeline.yaml s3://BUCKET/pipelines/NAME.yaml" />
  </>
);
