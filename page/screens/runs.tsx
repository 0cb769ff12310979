/** All runs of a pipeline, however many. */
import type { RunRecord } from '../../functions/core/runs/run-records.ts';
import { durationText, timeText } from '../model/format.ts';
import { RunLink } from '../parts/run-link.tsx';
import { Command } from '../parts/text.tsx';
import { VirtualTable } from '../parts/virtual-table.tsx';
import { address, setQuery } from '../state/address.ts';
import { usePages } from '../state/pages.ts';

const PAGE = 200;
const POLL_SECONDS = 5;

interface Runs {
  readonly runs: readonly RunRecord[];
  readonly nextToken?: string;
}

export function RunsScreen({ pipeline }: { readonly pipeline: string }) {
  const { items, isKnown, hasMore, more } = usePages<Runs, RunRecord>({
    path: `/pipelines/${encodeURIComponent(pipeline)}/runs?limit=${PAGE}`,
    itemsOf: ({ runs }) => runs,
    keyOf: ({ runId }) => runId,
    pollSeconds: POLL_SECONDS,
  });
  const wanted = address.value.query.get('find') ?? '';
  const shown = items.filter(({ runId, status, failure = '' }) =>
    `${runId} ${status} ${failure}`.includes(wanted),
  );
  const row = (place: number) => {
    const run = shown[place];
    if (run === undefined) return [];
    const { status, createdAt, updatedAt, trigger, failure } = run;
    const took = durationText(Date.parse(updatedAt) - Date.parse(createdAt));
    return [<RunLink runId={run.runId} />, status, timeText(createdAt), took, trigger, failure ?? ''];
  };
  return (
    <>
      <h1>{pipeline}</h1>
      <p class="tools">
        <label>
          find{' '}
          <input
            id="find"
            type="search"
            value={wanted}
            onInput={({ currentTarget }) => setQuery({ find: currentTarget.value })}
          />
        </label>
        <span class="quiet">{`${shown.length} of ${items.length}${hasMore ? '+' : ''} runs`}</span>
      </p>
      {isKnown && items.length === 0 && <p>No run yet: data that arrives below its incoming/ starts one.</p>}
      <VirtualTable
        caption={`runs of ${pipeline}`}
        columns={['run', 'state', 'began', 'took', 'started by', 'failure']}
        count={shown.length}
        row={row}
        onEnd={more}
      />
      <Command text={`aws s3 cp DATA s3://BUCKET/${pipeline}/incoming/ --recursive`} />
    </>
  );
}
