/** All runs, or those of a pipeline, however many: searched by text, metric and tag, and picked to be compared. */
import { useMemo } from 'preact/hooks';
import { causeOf, dollarText, elapsedText, shortNumber } from '../model/format.ts';
import { Empty, Frame } from '../parts/card.tsx';
import { Find } from '../parts/controls.tsx';
import { numbers, VirtualTable, wide } from '../parts/table.tsx';
import { Command, LinkButton, Pill, RunLink, Time } from '../parts/text.tsx';
import { address, setQuery } from '../state/address.ts';
import { type RunItem, type RunPages, useRuns } from '../state/pages.ts';

const PAGE = 200;
const POLL_SECONDS = 5;
const MOST_PICKED = 6;
const SEARCH = 'words, val_accuracy > 0.9, tag:NAME';

export function RunsScreen({ pipeline }: { readonly pipeline?: string }) {
  const where = address.value.query.get('find') ?? '';
  const parameters = { limit: PAGE, pipeline, where: where || undefined };
  const pages = useRuns(parameters, () => POLL_SECONDS);
  const picked = pickedRuns();
  const words = ['runs', pipeline && `--pipeline ${pipeline}`, where && `--where '${where}'`];
  const command = words.filter(Boolean).join(' ');
  const tools = (
    <>
      <Find wanted={where} placeholder={SEARCH} />
      {picked.length > 0 && (
        <LinkButton text={`Compare ${picked.length}`} to={['compare']} query={{ runs: picked.join(',') }} />
      )}
    </>
  );
  const shown = { pipeline, tools, leftOut: pages.unreadable, of: pages, command };
  return (
    <Frame title={pipeline ?? 'Runs'} {...shown}>
      {(runs) =>
        runs.length > 0 || pages.unreadable.length > 0 || pages.hasMore ? (
          <List runs={runs} pages={pages} name={pipeline ?? 'all pipelines'} />
        ) : where === '' ? (
          <Empty>
            <p>No run yet: data that arrives below its incoming/ starts one.</p>
            <Command of={`drop DIR ${pipeline ?? 'PIPELINE'}`} />
          </Empty>
        ) : (
          <Empty>No run is like that.</Empty>
        )
      }
    </Frame>
  );
}

const SETTINGS = 'what differs, tags';

type ListProps = Readonly<{ runs: readonly RunItem[]; pages: RunPages; name: string }>;

function List({ runs, pages: { hasMore, more }, name }: ListProps) {
  const differing = useMemo(() => differingNames(runs), [runs]);
  const hasTags = useMemo(() => runs.some((run) => tagsOf(run).length > 0), [runs]);
  const extra = wide(...(differing.length > 0 || hasTags ? [SETTINGS] : []));
  const columns = ['', 'run', 'state', 'outcome', ...extra, ...numbers('cost'), ...wide('took', 'began')];
  const row = (place: number) => {
    const run = runs[place];
    if (run === undefined) return [];
    const { runId, status, createdAt, updatedAt, result } = run;
    const settings = [...givenOf(run, differing), ...tagsOf(run)].join(', ');
    return [
      <Pick runId={runId} />,
      <RunLink runId={runId} />,
      <Pill status={status} />,
      <Outcome run={run} />,
      ...extra.map(() => <span title={settings}>{settings}</span>),
      result && dollarText(result.costUsd),
      elapsedText(createdAt, updatedAt),
      <Time at={createdAt} />,
    ];
  };
  const table = { columns, row, count: runs.length, onEnd: more };
  return (
    <>
      <p class="quiet">{`${runs.length}${hasMore ? '+' : ''} runs, newest first`}</p>
      <VirtualTable kind="runs" caption={`runs of ${name}`} {...table} />
    </>
  );
}

function Outcome({ run: { failure, result, annotation } }: { readonly run: RunItem }) {
  if (failure !== undefined) return <span title={failure}>{causeOf(failure).cause}</span>;
  const { name, value } = result?.metric ?? {};
  return (
    <span title={annotation?.note}>
      <strong>{typeof value === 'number' && shortNumber(value)}</strong> {name} {annotation?.note}
    </span>
  );
}

const tagsOf = ({ tags = {}, annotation }: RunItem): readonly string[] => [
  ...(annotation?.tags ?? []),
  ...Object.entries(tags).map((tag) => tag.join('=')),
];

const givenOf = ({ hyperparameters = {} }: RunItem, names: readonly string[]): readonly string[] =>
  names.flatMap((name) => (name in hyperparameters ? [`${name}=${hyperparameters[name]}`] : []));

/** Names of what was given to the scripts of these runs, where it is not the same in all of them. */
function differingNames(runs: readonly RunItem[]): readonly string[] {
  const values = new Map<string, Set<string>>();
  for (const { hyperparameters = {} } of runs)
    for (const [name, value] of Object.entries(hyperparameters))
      values.set(name, (values.get(name) ?? new Set()).add(value));
  return [...values].flatMap(([name, all]) => (all.size > 1 ? [name] : []));
}

const pickedRuns = (): readonly string[] =>
  (address.value.query.get('picked') ?? '').split(',').filter(Boolean);

function Pick({ runId }: { readonly runId: string }) {
  const picked = pickedRuns();
  const isPicked = picked.includes(runId);
  const change = (): void => {
    const next = isPicked ? picked.filter((each) => each !== runId) : [...picked, runId];
    setQuery({ picked: next.join(',') });
  };
  return (
    <input
      type="checkbox"
      checked={isPicked}
      disabled={!isPicked && picked.length >= MOST_PICKED}
      aria-label={`compare ${runId}`}
      onChange={change}
    />
  );
}
