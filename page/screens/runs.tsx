/** All runs of a pipeline, however many. */
import { metricText } from '../../client/amounts.ts';
import { dollarText, elapsedText, timeText } from '../model/format.ts';
import { Find } from '../parts/field.tsx';
import { RunLink } from '../parts/run-link.tsx';
import { Command, LeftOutText } from '../parts/text.tsx';
import { VirtualTable } from '../parts/virtual-table.tsx';
import { address, hrefOf } from '../state/address.ts';
import { useRuns } from '../state/pages.ts';

const PAGE = 200;
const POLL_SECONDS = 5;

export function RunsScreen({ pipeline }: { readonly pipeline: string }) {
  const { runs, unreadable, isKnown, hasMore, more } = useRuns({ limit: PAGE, pipeline }, POLL_SECONDS);
  const wanted = address.value.query.get('find') ?? '';
  const shown =
    wanted === ''
      ? runs
      : runs.filter(({ runId, status, failure = '' }) => `${runId} ${status} ${failure}`.includes(wanted));
  const row = (place: number) => {
    const run = shown[place];
    if (run === undefined) return [];
    const { runId, status, createdAt, updatedAt, trigger, failure, result } = run;
    const took = elapsedText(createdAt, updatedAt);
    const cost = result === undefined ? '' : dollarText(result.costUsd);
    const metric = result?.metric && metricText(result.metric.name, result.metric.value);
    const outcome = failure ?? metric ?? '';
    return [<RunLink runId={runId} />, status, timeText(createdAt), took, cost, trigger, outcome];
  };
  return (
    <>
      <h1>{pipeline}</h1>
      <p class="tools">
        <a href={hrefOf(['pipelines', pipeline, 'data'])}>its data</a>
        <a href={hrefOf(['pipelines', pipeline, 'probes'])}>its probes</a>
        <Find wanted={wanted} />
        <span class="quiet">{`${shown.length} of ${runs.length}${hasMore ? '+' : ''} runs`}</span>
      </p>
      <LeftOutText why={unreadable} />
      {isKnown && runs.length === 0 && unreadable.length === 0 && (
        <>
          <p>No run yet: data that arrives below its incoming/ starts one.</p>
          <Command text={`npx tidewheel drop DIR ${pipeline}`} />
        </>
      )}
      <VirtualTable
        caption={`runs of ${pipeline}`}
        columns={['run', 'state', 'began', 'took', 'cost', 'started by', 'metric or failure']}
        count={shown.length}
        row={row}
        onEnd={more}
      />
      <Command text={`npx tidewheel runs --pipeline ${pipeline}`} />
    </>
  );
}
