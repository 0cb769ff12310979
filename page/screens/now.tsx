/** The screen "Now": a row a pipeline, with its last runs. */
import type { PipelineRecord } from '../../functions/core/runs/batches.ts';
import type { RunRecord } from '../../functions/core/runs/run-records.ts';
import { RunLink } from '../parts/run-link.tsx';
import { TableFrame } from '../parts/table.tsx';
import { Command, Time } from '../parts/text.tsx';
import { hrefOf } from '../state/address.ts';
import { useReading } from '../state/readings.ts';

/** The API takes bursts of 40 calls, and a row is one call. */
const ROWS = 20;
const RUNS_A_ROW = 5;
const POLL_SECONDS = 5;

interface Pipelines {
  readonly pipelines: readonly PipelineRecord[];
  readonly nextToken?: string;
}
interface Runs {
  readonly runs: readonly RunRecord[];
}

/** @param after token of the page of pipelines */
export function NowScreen({ after }: { readonly after: string | undefined }) {
  const token = after === undefined ? '' : `&nextToken=${encodeURIComponent(after)}`;
  const { body, refusal } = useReading<Pipelines>(`/pipelines?limit=${ROWS}${token}`, () => POLL_SECONDS);
  if (body === undefined) return refusal === undefined ? <p>Reading the API…</p> : null;
  const { pipelines, nextToken } = body;
  return (
    <>
      <h1>Pipelines</h1>
      {pipelines.length === 0 ? (
        <Empty />
      ) : (
        <TableFrame
          caption="pipelines"
          columns={['pipeline', 'newest run', 'state', 'changed', 'earlier runs']}
        >
          {pipelines.map((pipeline) => (
            <Row key={pipeline.name} pipeline={pipeline} />
          ))}
        </TableFrame>
      )}
      {nextToken !== undefined && <a href={hrefOf([], { after: nextToken })}>more pipelines</a>}
    </>
  );
}

function Row({ pipeline: { name, valid, problems } }: { readonly pipeline: PipelineRecord }) {
  const path = `/pipelines/${encodeURIComponent(name)}/runs?limit=${RUNS_A_ROW}`;
  const { body } = useReading<Runs>(path, () => POLL_SECONDS);
  const [newest, ...earlier] = body?.runs ?? [];
  return (
    <tr>
      <td>
        <a href={hrefOf(['pipelines', name])}>{name}</a>
        {!valid && <div class="problem">{problemsText(problems)}</div>}
      </td>
      <td>
        {newest === undefined ? (
          body && 'none: drop data below its incoming/'
        ) : (
          <RunLink runId={newest.runId} />
        )}
      </td>
      <td>{newest?.status}</td>
      <td>{newest && <Time at={newest.updatedAt} />}</td>
      <td>
        {earlier.map((run) => (
          <span key={run.runId}>
            <RunLink runId={run.runId} /> {run.status}{' '}
          </span>
        ))}
      </td>
    </tr>
  );
}

const problemsText = (problems: PipelineRecord['problems'] = []): string =>
  `declaration not valid: ${problems.map(({ path, message }) => `${path}: ${message}`).join('; ')}`;

const Empty = () => (
  <>
    <p>There is no pipeline yet. Declare one; docs/pipeline.md shows how:</p>
    <Command text="aws s3 cp pipeline.yaml s3://BUCKET/pipelines/NAME.yaml" />
  </>
);
