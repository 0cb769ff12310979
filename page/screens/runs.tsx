/** All runs, or those of a pipeline, however many: searched by text, metric and tag, and picked to be compared. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { causeOf, dollarText, elapsedText, shortNumber } from '../model/format.ts';
import { Empty, Frame } from '../parts/card.tsx';
import { Find } from '../parts/controls.tsx';
import { numbers, VirtualTable, wide } from '../parts/table.tsx';
import { Command, Pill, RunLink, Time } from '../parts/text.tsx';
import { address, hrefOf, setQuery } from '../state/address.ts';
import { type RunItem, type RunPages, useRuns } from '../state/pages.ts';

const PAGE = 200;
const POLL_SECONDS = 5;
/** After the last key. */
const TYPING_MILLISECONDS = 300;
const MOST_PICKED = 6;
const SEARCH = 'words, val_accuracy > 0.9, tag:NAME';

export function RunsScreen({ pipeline }: { readonly pipeline?: string }) {
  const { query } = address.value;
  const wanted = query.get('find') ?? '';
  const where = useLater(wanted);
  const parameters = { limit: PAGE, pipeline, where: where === '' ? undefined : where };
  const pages = useRuns(parameters, () => POLL_SECONDS);
  const picked = (query.get('picked') ?? '').split(',').filter(Boolean);
  const filter = [pipeline && ` --pipeline ${pipeline}`, where && ` --where '${where}'`]
    .filter(Boolean)
    .join('');
  const tools = (
    <>
      <Find wanted={wanted} placeholder={SEARCH} />
      {picked.length > 0 && (
        <a class="button" href={hrefOf(['compare'], { runs: picked.join(',') })}>
          {`Compare ${picked.length}`}
        </a>
      )}
    </>
  );
  const shown = { pipeline, tools, leftOut: pages.unreadable, of: pages, command: `runs${filter}` };
  return (
    <Frame title={pipeline ?? 'Runs'} {...shown}>
      {(runs) =>
        runs.length > 0 || pages.unreadable.length > 0 || pages.hasMore ? (
          <List runs={runs} pages={pages} picked={picked} name={pipeline ?? 'all pipelines'} />
        ) : where === '' ? (
          <Empty>
            <p>No run yet: data that arrives below its incoming/ starts one.</p>
            <Command text={`npx --no-install tidewheel drop DIR ${pipeline ?? 'PIPELINE'}`} />
          </Empty>
        ) : (
          <Empty>No run is like that.</Empty>
        )
      }
    </Frame>
  );
}

/** A text that a person types, once they pause. */
function useLater(text: string): string {
  const held = useSignal(text);
  useEffect(() => {
    const timer = setTimeout(() => {
      held.value = text.trim();
    }, TYPING_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [text]);
  return held.value;
}

type ListProps = Readonly<{
  runs: readonly RunItem[];
  pages: RunPages;
  picked: readonly string[];
  name: string;
}>;

function List({ runs, pages: { hasMore, more }, picked, name }: ListProps) {
  const differing = differingNames(runs);
  const hasTags = runs.some((run) => tagsOf(run).length > 0);
  const extra = [...(differing.length > 0 ? ['what differs'] : []), ...(hasTags ? ['tags'] : [])];
  const columns = [
    '',
    'run',
    'state',
    'outcome',
    ...wide(...extra),
    ...numbers('cost'),
    ...wide('took', 'began'),
  ];
  const row = (place: number) => {
    const run = runs[place];
    if (run === undefined) return [];
    const { runId, status, createdAt, updatedAt, result, hyperparameters = {} } = run;
    const given = differing.flatMap((each) =>
      each in hyperparameters ? [`${each}=${hyperparameters[each]}`] : [],
    );
    const texts = [
      ...(differing.length > 0 ? [given.join(' ')] : []),
      ...(hasTags ? [tagsOf(run).join(', ')] : []),
    ];
    return [
      <Pick runId={runId} picked={picked} />,
      <RunLink runId={runId} />,
      <Pill status={status} />,
      <Outcome run={run} />,
      ...texts.map((text) => <span title={text}>{text}</span>),
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
  ...Object.entries(tags).map(([tag, value]) => `${tag}=${value}`),
];

/** Names of what was given to the scripts of these runs, where it is not the same in all of them. */
function differingNames(runs: readonly RunItem[]): readonly string[] {
  const values = new Map<string, Set<string>>();
  for (const { hyperparameters = {} } of runs)
    for (const [name, value] of Object.entries(hyperparameters))
      values.set(name, (values.get(name) ?? new Set()).add(value));
  return [...values].flatMap(([name, all]) => (all.size > 1 ? [name] : []));
}

function Pick({ runId, picked }: { readonly runId: string; readonly picked: readonly string[] }) {
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
